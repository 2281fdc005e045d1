"""Training of policy models: the data set, the classifier, the adapter of a language model, calibration."""
