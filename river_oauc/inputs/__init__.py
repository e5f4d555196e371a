"""What comes from outside, checked and made plain: features, labels, weights, parameters."""
