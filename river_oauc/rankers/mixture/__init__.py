"""A mixture of linear and kernel experts that has nothing to tune.

- `units` standardises the features.
- `ridge`, `steps` and `kernels` are the experts, and `moments` what they know of the classes.
- `judge` measures how well each expert ranks new examples, and turns that into shares.
- `generation` is one mixture of experts.
- `change` notices when the ranking breaks, and compares an older with a younger generation.
- `probabilities` calibrates the score.
- `ranker` puts all this together.
- `constants` has every constant of the rule.
"""
