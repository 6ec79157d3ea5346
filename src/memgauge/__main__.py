"""`python -m memgauge` is the same as `memgauge`."""

from memgauge.cli.app import main

if __name__ == "__main__":
    main()
