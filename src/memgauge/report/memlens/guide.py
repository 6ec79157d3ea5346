"""How to read the numbers about conversations, with what must not be read into them."""

from __future__ import annotations

READING: tuple[tuple[str, str], ...] = (
    (
        "Accuracy, all questions and mean of abilities",
        "Right over answered and abstained. Declining is right for questions whose answer the conversation does not "
        "hold, and wrong elsewhere: a system that always declines has 100 % on answer refusal and 0 % on the rest. "
        "Intervals are over questions; they say how far other questions like these could lead, not what another run of "
        "the same model would give. Shares of questions have exact intervals here (Clopper-Pearson), and bootstrap "
        "intervals under Outcomes, which differ a little; with few questions the exact ones are safer.",
    ),
    (
        "Coverage and per-answer accuracy",
        "Per-answer accuracy is over the questions that a system chose to answer. Systems choose different questions, "
        "so a higher one is no proof of a better memory: read it beside coverage.",
    ),
    (
        "Degradation",
        "The same questions in longer histories. A longer history also moves the evidence and adds pictures, so a fall "
        "does not say which of these did it. No significant fall with few questions is no proof of robustness: read "
        "the interval. The correction is over all tests of this report, so adding systems makes each harder to pass.",
    ),
    (
        "Churn, flip-back, overlap",
        "Questions are lost and gained at once. A system whose answers are drawn anew would flip back often and "
        "overlap as chance does; a robust one keeps the same questions. Sampling at a "
        "temperature above 0 makes churn too.",
    ),
    (
        "Retention",
        "Accuracy at a longer length over that at the shortest. It favours systems that were weak to begin with, or "
        "near chance: their accuracy has little to lose.",
    ),
    (
        "Pictures and oracles",
        "Without pictures, what is still answered can be guessed or read elsewhere. An oracle shows the evidence "
        "alone: the gap to the full history is what finding costs; what the oracle misses is reading or reasoning. "
        "Oracles hold no unanswerable questions.",
    ),
    (
        "Rank correlations",
        "Over systems, not over questions: abilities that correlate may share a cause, such as model size. With few "
        "systems the coefficient is nearly free, so n and p stand beside it, corrected for nothing.",
    ),
    (
        "Hard questions",
        "Chosen by the same answers that are then averaged, so their accuracy at that length is too low. With few "
        "systems, hard means that nobody solved it. A question with a wrong reference is hard for everybody.",
    ),
    (
        "Recall by age",
        "Of answerable questions, by the age of the oldest evidence they need. Questions that need several sessions "
        "have older evidence and are harder for other reasons.",
    ),
    (
        "Capped and degenerate outputs",
        "A larger token budget may turn them into answers. They count as wrong where they commit to nothing, so a fall "
        "of accuracy with length can be one of form.",
    ),
)
"""Terms of the sections about conversations."""
