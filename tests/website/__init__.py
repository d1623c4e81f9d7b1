"""The documentation as a website: a hook of MkDocs (mkdocs.yml), which `make docs` and `make check` run."""
