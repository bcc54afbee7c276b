"""The numeric core of planning: columns, a master with a proven bound, and whole plans. It knows no Kubernetes."""
