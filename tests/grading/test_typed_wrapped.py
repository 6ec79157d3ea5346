"""More labelled wordings, and the same answers inside the phrases that models put around them."""

from __future__ import annotations

import pytest

from memgauge.grading.typed.grade import grade_typed

GAMES = "How many educational board games do I own right now?"
EGGS = "How many eggs did I buy over the two trips?"
ORCHIDS = "How many of my orchids survived the winter?"
LAMPS = "What did my reading lamps cost altogether?"
PRACTICE = "How long did I practise over both evenings?"
FERN = "Is the fern in the lobby the same species as the one I call Basil?"
ORDER = "Put these in order from earliest to latest: (1) the pottery class (2) the dentist visit (3) the road trip."
LETTERS = "Arrange these from earliest to latest: A. the wedding, B. the marathon, C. the move."
LONGER = (
    "Which of the two durations is longer? Duration 1: my stay in Lyon. Duration 2: the garden project. "
    "A. Duration 1 is longer. B. Duration 2 is longer."
)
COURSE = "When did I finish the weaving course?"
SERIAL = "Which serial number is on the sewing machine?"
BREAD = "Which bread do I bake every week now?"

CASES = [
    ("MSR_Counting", GAMES, "3", "You have 3 educational ones out of 7 games in total.", True),
    ("MSR_Counting", GAMES, "3", "8 games, of which 3 are educational", True),
    ("MSR_Counting", GAMES, "3", "If you count the word game, 4; otherwise 3.", False),
    ("MSR_Counting", GAMES, "3", "3 if the word game counts, else 2", False),
    ("MSR_Counting", GAMES, "3", "3 (maybe 4)", False),
    ("MSR_Counting", GAMES, "3", "They are three, although I first counted 4", True),
    ("MSR_Counting", GAMES, "3", "Four minus one sold: three.", True),
    ("MSR_Counting", GAMES, "3", "* 3", True),
    ("MSR_Counting", GAMES, "3", "Answer - 3", True),
    ("MSR_Counting", GAMES, "3", "=> 3", True),
    ("MSR_Counting", GAMES, "3", "Answer: It was 4, but now 3.", True),
    ("MSR_Counting", GAMES, "3", "Answer: Of your 7 games, 3 are educational.", True),
    ("MSR_Counting", GAMES, "105", "hundred and five", True),
    ("MSR_Counting", EGGS, "18", "a dozen and a half", True),
    ("MSR_Counting", ORCHIDS, "0", "I checked the photos. Not a single one", True),
    ("MSR_Counting", ORCHIDS, "0", "Based on our chats, none of the orchids survived; all 5 died.", True),
    ("MSR_Arithmetic", LAMPS, "$235.00", "2 lamps at $117.50 each: $235", True),
    ("MSR_Arithmetic", LAMPS, "$235.00", "$250 less the $15 refund, i.e. $235", True),
    ("MSR_Arithmetic", LAMPS, "$235.00", "Answer: $250, but you got $15 back, so $235", True),
    ("MSR_Arithmetic", LAMPS, "$235.00", "It adds up to $235", True),
    ("MSR_Arithmetic", LAMPS, "$235.00", "The answer is -$235", False),
    ("MSR_Arithmetic", LAMPS, "$235.00", "235 lamps", False),
    ("MSR_Arithmetic", LAMPS, "$235.00", "$225 or, if you count the bulb, $235", False),
    ("MSR_Arithmetic", PRACTICE, "3.5 hours", "three point five hours", True),
    ("MSR_Arithmetic", PRACTICE, "3.5 hours", "3h30", True),
    ("MSR_Arithmetic", PRACTICE, "3.5 hours", "3h 30m", True),
    ("MSR_Arithmetic", PRACTICE, "3.5 hours", "3 hours and a half", True),
    ("MSR_Arithmetic", PRACTICE, "1.5 hours", "an hour and a half", True),
    ("MSR_Arithmetic", PRACTICE, "1.5 hours", "1:30", True),
    ("MSR_Arithmetic", PRACTICE, "1.5 hours", "Answer: 1:40", False),
    ("MSR_Arithmetic", PRACTICE, "10 days", "a week and three days", True),
    ("MSR_Arithmetic", "What fraction is left?", "0.375", "three eighths", True),
    ("MSR_YesNo", FERN, "Yes", "They do not differ.", True),
    ("MSR_YesNo", FERN, "Yes", "They sure are", True),
    ("MSR_YesNo", FERN, "Yes", "Sure.", True),
    ("MSR_YesNo", FERN, "No", "Sure! They are different species.", True),
    ("MSR_YesNo", FERN, "No", "No (high confidence)", True),
    ("MSR_YesNo", FERN, "No", "No; yes would require the same leaf.", True),
    ("MSR_YesNo", FERN, "No", "They share the genus but not the species.", True),
    ("MSR_YesNo", FERN, "No", "It seems not.", True),
    ("MSR_YesNo", FERN, "No", "Not exactly", True),
    ("TR_OrderRanking", ORDER, "(3)(1)(2)", "The earliest is (3), the latest is (2), and (1) is in between.", True),
    ("TR_OrderRanking", ORDER, "(3)(1)(2)", "(2) came last, (3) came first, (1) in between", True),
    ("TR_OrderRanking", ORDER, "(3)(1)(2)", "(2) was after (1), which was after (3).", True),
    (
        "TR_OrderRanking",
        ORDER,
        "(3)(1)(2)",
        "The dentist visit was last, the road trip first, and the pottery class in between.",
        True,
    ),
    (
        "TR_OrderRanking",
        ORDER,
        "(3)(1)(2)",
        "The pottery class happened after the road trip; the dentist visit came last.",
        True,
    ),
    ("TR_OrderRanking", ORDER, "(3)(1)(2)", "(3)(1)(2), not (1)(2)(3)", True),
    ("TR_OrderRanking", ORDER, "(3)(1)(2)", "(3)(1)(2). I first thought (1)(3)(2).", True),
    ("TR_OrderRanking", ORDER, "(3)(1)(2)", "Answer: Not (1)(2)(3) but (3)(1)(2)", True),
    ("TR_OrderRanking", ORDER, "(3)(1)(2)", "Answer: (3)(1)(2) is wrong; (1)(3)(2)", False),
    ("TR_OrderRanking", ORDER, "(3)(1)(2)", "No. 3, No. 1, No. 2", True),
    ("TR_OrderRanking", ORDER, "(3)(1)(2)", "1) 3 2) 1 3) 2", True),
    ("TR_OrderRanking", ORDER, "(3)(1)(2)", "Answer: 312", True),
    ("TR_OrderRanking", ORDER, "(3)(1)(2)", "Third, first, second", True),
    ("TR_OrderRanking", ORDER, "(3)(1)(2)", "(3)(1)(2)\n(3)(1)(2)", True),
    ("TR_OrderRanking", ORDER, "(3)(1)(2)", "(1) on 10 May 2023, (2) on 1 June 2023, so (3)(1)(2)", True),
    ("TR_OrderRanking", ORDER, "(3)(1)(2)", "❸❶❷", True),
    ("TR_OrderRanking", LETTERS, "C, A, B", "C then A then B", True),
    ("TR_OrderRanking", LETTERS, "C, A, B", "I checked. C, A and B", True),
    ("TR_DurationComparison", LONGER, "A", "A is correct, B is not.", True),
    ("TR_DurationComparison", LONGER, "A", "The garden project did not last as long as the stay in Lyon.", True),
    ("TR_DurationComparison", LONGER, "A", "A?", True),
    ("TR_DurationComparison", LONGER, "A", "选A", True),
    ("TR_DurationComparison", LONGER, "B", "Answer: Lyon was shorter", True),
    ("TR_DurationComparison", LONGER, "A", "Answer: B took 2 weeks while A took 10 weeks, so A", True),
    ("TR_DurationComparison", LONGER, "B", "Based on our conversations, 2", True),
    ("TR_DateExtraction", COURSE, "2024/08/31", "2024/08/31 (enrolled 2024/06/01)", True),
    ("TR_DateExtraction", COURSE, "2024/08/31", "Answer: Enrolled 2024/06/01; finished 2024/08/31", True),
    ("TR_DateExtraction", COURSE, "2024/08/31", "Looking at session 5, 2024-08-31", True),
    ("TR_DateExtraction", COURSE, "2024/08/31", "on the 31st of August in the year 2024", True),
    ("TR_DateExtraction", COURSE, "2024/08/31", "August31,2024", True),
    ("TR_DateExtraction", COURSE, "2024/08/31", "2024 08 31", True),
    ("TR_DateExtraction", COURSE, "2024/08/31", "August 30-31, 2024", False),
    ("AR", SERIAL, "NOT_MENTIONED", "It is a Singer sewing machine, but the serial number was not shared.", True),
    ("AR", SERIAL, "NOT_MENTIONED", "The chats do not say, but most sewing machines of this type have SM-2000.", False),
    ("AR", SERIAL, "NOT_MENTIONED", "It isn't stated directly; the closest is SM-2000.", False),
    ("AR", SERIAL, "NOT_MENTIONED", "Not mentioned. Wait, it is SM-2000.", False),
    ("AR", SERIAL, "NOT_MENTIONED", "The sewing machine does not have a serial number.", False),
    ("AR", SERIAL, "NOT_MENTIONED", "Answer: None", True),
    ("AR", SERIAL, "NOT_MENTIONED", "Information missing", True),
    ("AR", SERIAL, "NOT_MENTIONED", "You did not share this.", True),
    ("AR", SERIAL, "NOT_MENTIONED", "Insufficient information.\n\n(Source: session 12 on 2022/02/03.)", True),
    ("AR", SERIAL, "NOT_MENTIONED", "The only serial number mentioned is the camera's; none for the machine.", True),
    ("KU", BREAD, "focaccia", "You gave up pita for focaccia.", True),
    ("KU", BREAD, "focaccia", "You gave up focaccia for pita.", False),
    ("KU", BREAD, "focaccia", "You opted for focaccia.", True),
    ("KU", BREAD, "focaccia", "foccacia", True),
    ("KU", BREAD, "focaccia", "Focaccia (updated from pita on 2024/04/02).", True),
    ("KU", BREAD, "focaccia", "Answer: Not pita any more; it is focaccia.", True),
    ("IE", "At what time does the train leave?", "14:35", "14.35", True),
    ("IE", "At what time does the train leave?", "14:35", "The ticket for 12.50 says 14:35", True),
]


@pytest.mark.parametrize(("subtype", "question", "reference", "said", "right"), CASES)
def test_labelled_wordings(subtype, question, reference, said, right):
    grade = grade_typed(said, subtype=subtype, question=question, reference=reference, old_answer="pita")
    assert bool(grade.correct) is right, grade


@pytest.mark.parametrize(
    ("question", "reference", "old", "said", "right"),
    [
        ("How many cats do I have now?", "3", "2", "from 2 to 3", True),
        ("How many cats do I have now?", "3", "2", "from 3 to 2", False),
        ("How many cats do I have now?", "3", "2", "2, later 3", True),
        ("How many cats do I have now?", "3", "2", "from 1 to 3", False),
        ("When does my job start now?", "2024/05/01", "2024/04/15", "moved from 2024/04/15 to 2024/05/01", True),
        ("When does my job start now?", "2024/05/01", "2024/04/15", "2024/05/01 (originally 2024/04/15)", True),
        ("When does my job start now?", "2024/05/01", "2024/04/15", "2024/05/01 or 2024/04/15", False),
    ],
)
def test_what_is_said_to_have_changed(question, reference, old, said, right):
    grade = grade_typed(said, subtype="KU", question=question, reference=reference, old_answer=old)
    assert bool(grade.correct) is right, grade


PLAIN = [
    ("MSR_Counting", GAMES, "3", ("3", "three", "3 games", "3.0"), ("4", "2-4", "about 3", "3 or 4", "3%")),
    ("MSR_Counting", ORCHIDS, "0", ("none", "0", "zero orchids"), ("1", "Insufficient information")),
    ("MSR_Arithmetic", LAMPS, "$235.00", ("$235", "235 USD", "235,00"), ("€235", "$225", "$225-$245", "$95 and $140")),
    ("MSR_Arithmetic", PRACTICE, "3 hours", ("3 h", "180 minutes", "3:00"), ("3 minutes", "3 days")),
    ("MSR_YesNo", FERN, "No", ("no", "Nope", "not the same species"), ("yes", "not sure", "yes and no")),
    ("TR_OrderRanking", ORDER, "(3)(1)(2)", ("(3)(1)(2)", "3, 1, 2", "3 -> 1 -> 2"), ("(1)(2)(3)", "(3)(1)")),
    ("TR_DurationComparison", LONGER, "B", ("B", "Duration 2", "the garden project"), ("A", "A or B", "Lyon")),
    ("TR_DateExtraction", COURSE, "2024/01/15", ("2024-01-15", "15 Jan 2024"), ("2024/01/16", "January 2024")),
    ("AR", SERIAL, "NOT_MENTIONED", ("Insufficient information", "Not mentioned"), ("SM-2000", "maybe SM-2000")),
    ("KU", BREAD, "focaccia", ("focaccia", "the focaccias"), ("pita", "focaccia or pita", "rye")),
]
WRAPPED = (
    "{}", "Answer: {}", "**{}**", "  {}\n", "<think>7, A or yes?</think>{}", "{}<|im_end|>", "Final answer:\n{}",
    "\\boxed{{{}}}", "<answer>{}</answer>", '"{}"', "Based on our conversations, {}", "Let me think.\n\n{}", "Sure! {}",
    "I checked the photos. {}", "{}. Let me know if you need anything else!", "# Answer\n\n{}",
    "Thought: I recall the session.\nAnswer: {}", "According to our chat, {}",
)  # fmt: skip


@pytest.mark.parametrize(("subtype", "question", "reference", "right", "wrong"), PLAIN)
@pytest.mark.parametrize("wrapped", WRAPPED)
def test_what_models_put_around_an_answer_changes_nothing(wrapped, subtype, question, reference, right, wrong):
    for said in (*right, *wrong):
        text = wrapped.format(said)
        grade = grade_typed(text, subtype=subtype, question=question, reference=reference, old_answer="pita")
        assert bool(grade.correct) is (said in right), (text, grade)
