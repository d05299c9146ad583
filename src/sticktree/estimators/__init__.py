"""The estimators: what users of scikit-learn hold in their hands."""
