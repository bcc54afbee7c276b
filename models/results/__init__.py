"""Result documents, one module a verb: the records that the solver fills and that are written as JSON."""
