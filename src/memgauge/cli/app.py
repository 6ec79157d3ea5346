"""The `memgauge` command: every subcommand, found by name and imported only when it is called."""

from __future__ import annotations

import os
import sys

from cyclopts import App, CycloptsError

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("memgauge.cli.demo:demo", "Gauge ten memories whose numbers are known and write a report (one minute)."),
    "run": ("memgauge.cli.run:run", "Ask memory systems about streams; one row a question."),
    "report": ("memgauge.cli.report:report", "Show the numbers of one or more runs: a table and an HTML page."),
    "compare": ("memgauge.cli.compare:compare", "Compare two runs, paired by question, with tests."),
    "show": ("memgauge.cli.show:show", "Print everything about one question of a run."),
    "list": ("memgauge.cli.list:app", "List systems, tasks, models or backbones."),
    "streams": ("memgauge.cli.streams:app", "Make, check and measure streams of symbols."),
    "video": ("memgauge.cli.video:app", "Draw streams as video: letters on conveyor belts."),
    "flops": ("memgauge.cli.flops:app", "What arithmetic costs: tables, models, backbones."),
    "audit": ("memgauge.cli.audit:audit", "Run the graders on labelled cases."),
    "judge": ("memgauge.cli.judge:app", "Judge a run; how far to trust a judge: agreement, samples, labels."),
    "memlens": ("memgauge.cli.memlens:app", "Kinds of errors, and results of the public evaluator, for MEMLENS."),
    "import": ("memgauge.cli.importing:import_results", "Turn results made elsewhere into a run."),
    "import-inspect": ("memgauge.cli.import_inspect:import_inspect", "Turn logs of Inspect AI into a run."),
    "backbones": ("memgauge.cli.backbones:app", "Train sequence backbones, and compare them (extra: backbones)."),
    "half-life": ("memgauge.cli.half_life:half_life", "Fit the decay of memory over time."),
    "rollouts": ("memgauge.cli.rollouts:app", "Score generated videos by their camera tracks."),
    "histories": ("memgauge.cli.histories:app", "Build, review and look at long conversations with pictures."),
    "check": ("memgauge.cli.check:check", "The instrument's own test: measured against known numbers."),
}
"""Name: (import path, one line of help)."""


def make_app(called: str | None = None) -> App:
    """Return the command-line application. The command that is called is imported, the others only named."""
    from importlib import import_module

    from memgauge import __version__

    app = App(
        name="memgauge",
        help="Gauge the memory of an AI system: capacity, efficiency, compression, calibration, forgetting.",
        version=__version__,
        help_format="plaintext",
        result_action="return_value",
        suppress_keyboard_interrupt=False,  # `main` says what a stop means
    )
    for name, (target, text) in COMMANDS.items():
        if name == called:
            module, attribute = target.split(":")
            app.command(getattr(import_module(module), attribute), name=name)
        else:
            app.command(target, name=name, help=text)
    return app


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. Exits 0 when all went well, 1 for a verdict, 2 for an input that cannot be used."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit status."""
    from memgauge.errors import MemgaugeError

    try:
        status = make_app(next(iter(arguments), None))(arguments, exit_on_error=False, print_error=True)
        sys.stdout.flush()
    except CycloptsError:
        return 2  # its message has been printed
    except MemgaugeError as error:
        print(f"memgauge: error: {error}", file=sys.stderr)
        return 2
    except MemoryError as error:
        print(f"memgauge: error: not enough memory: {error}; ask for less at a time", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("memgauge: stopped; what was written is whole, and the same command goes on from there", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (head, less) has gone; Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status if isinstance(status, int) else 0
