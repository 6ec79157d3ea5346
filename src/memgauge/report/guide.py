"""How to read each number of the report, with what must not be read into it."""

from __future__ import annotations

CAVEATS = (
    "Every number is of this task, these streams and these questions. Numbers of different tasks, judges, embedders or "
    "ways of counting tokens do not belong in one table, and memgauge puts them in none."
)

READING: tuple[tuple[str, str], ...] = (
    (
        "Accuracy C, and its interval",
        "Right answers over answered and abstained questions: an abstention counts as wrong, an error (of the system, "
        "the parser, the judge or the server) counts as neither. The questions of one episode succeed and fail "
        "together, so the interval is a bootstrap over whole episodes. With fewer than 20 it is wide, and where all "
        "agree it is an exact bound: 20 streams without a miss do not prove 100 %. Balanced accuracy weights yes "
        "and no questions equally.",
    ),
    (
        "Capacity",
        "Accuracy on incompressible (max-entropy) streams (ECCBench, Sec. 3). With uniform negatives it is not the "
        "share of the stream that is remembered: a false candidate drawn uniformly is often refuted by a far smaller "
        "statistic of the stream, such as the set of its trigrams, so that 4,096 bits give 90 % at L = 4,096. The "
        "chart of accuracy against state bits shows the best known scheme and the bound that no state can pass.",
    ),
    (
        "Uniform and matched negatives",
        "The paper draws false candidates uniformly. On low-entropy streams most of these hold symbols or pairs that "
        "the stream never shows: a memory of 16 bits, the set of symbols seen, scores 92 % at L = 1,024 without "
        "recalling anything else. Matched negatives (extension) are drawn from the stream's own statistics and "
        "resemble true candidates; a gain that survives them is more likely to be recall.",
    ),
    (
        "Efficiency",
        "The smallest FLOPs budget at which the accuracy-against-FLOPs curve reaches the target; `never` where it does "
        "not. The curve spends responses cheapest first over the whole cell, so a wrong answer costs compute without "
        "raising it. One question a stream is assumed, so each question pays its stream's whole write.",
    ),
    (
        "Compression, Comp(L, F)",
        "Accuracy on regular streams minus accuracy on incompressible streams of equal length and budget (ECCBench, "
        "eq. 2), in percentage points. A positive value does not by itself show compression: low-entropy streams "
        "repeat themselves, so even a plain window of the last symbols gains (+35 points with 256 bits at L = 1,024). "
        "Near 100 % on both there is nothing left to gain, and the difference says little.",
    ),
    (
        "Excess over the matched window (extension)",
        "Comp minus the Comp of a plain window whose accuracy on incompressible streams equals the system's: the part "
        "of the gain that keeping recent symbols does not explain. The FLOPs ratio beside it (extension) compares what "
        "equal accuracy costs on incompressible and on regular streams. For a system with false alarms, whose errors a "
        "window does not make, it is a comparison and no proof.",
    ),
    (
        "Coverage R, and C/R",
        "R is the share of scored questions that were answered; C/R is the accuracy of those. A calibrated system "
        "answers when it remembers and declines when it does not: C/R rises as R falls.",
    ),
    (
        "Responsiveness, selectivity, payoff",
        "Arm A pays +3 for a right and -1 for a wrong answer (answer above 25 % confidence), arm B +1 and -4 (above "
        "80 %). Responsiveness is the coverage under A minus that under B. The gap is arm A's accuracy on the "
        "questions that B kept minus that on those B declined, shown from five declined on; Fisher's p takes questions "
        "as independent, the p of streams redraws whole streams. The payoff of both arms is scored by B's payoff: "
        "below 0, declining everything would have earned more.",
    ),
    (
        "AURC, Brier, ECE, R at τ",
        "Of systems that give a confidence. AURC is the area under the error rate of the most confident answers, over "
        "all coverages; Brier is the mean squared error of the confidence; ECE compares confidence with accuracy in "
        "bins and depends on them. R at τ answers only above τ = λ/(1+λ), where a wrong answer costs λ.",
    ),
    (
        "Recall by age, half-life",
        "Recall of true candidates by how long before the question they last occurred. Read it beside the false "
        "alarms: a system that always says yes recalls everything. A half-life is given only where the fall with age "
        "is larger than chance makes it, and only an interval inside the observed ages should be quoted.",
    ),
    (
        "State",
        "Bits that the system holds when the question comes, by its own count. The bounds that are drawn against it "
        "hold on average over max-entropy streams with uniform negatives.",
    ),
    (
        "Comparisons",
        "Both systems answered the same questions, so differences are paired. With m pairs, one of them is below 0.05 "
        "by chance soon: read the corrected p. It is corrected within its cell (task, split, length, negatives), over "
        "all pairs of systems; with more than 12 systems only the best is compared with each, and all pairs are still "
        "corrected for, because the same data chose the best.",
    ),
)
"""Terms of the report, in the order of the page."""
