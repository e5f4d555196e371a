"""A mixture of linear and kernel experts that has nothing to tune.

- `units` standardises the features; `tails` takes logarithms of those with heavy tails.
- `ridge`, `steps` and `landmarks` are the experts; `kernels` has the similarities to landmarks, and
  `moments` the means and covariances of the classes.
- `judge` measures how well each expert ranks new examples, and turns that into shares.
- `generation` is one mixture of experts.
- `change` notices when the ranking breaks, and compares an older with a younger generation.
- `ranker` puts all this together.
- `arrays` keeps the latest rows.
- `constants` has every constant of the rule.
"""
