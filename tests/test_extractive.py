"""The summariser that needs no model: what it keeps, what it drops, and that it quotes.

The facts of the tables are written for these tests; the conversations of the simulation come from its generator, with
seeds that the patterns were not tuned on.
"""

from __future__ import annotations

import os
import subprocess
import sys
from statistics import fmean
from typing import Any

import pytest

import harmony_mem as hm
from harmony_mem.simulate.conversation import Conversation, shipped, text_of
from harmony_mem.simulate.generate import generate
from harmony_mem.summarizers import ground
from harmony_mem.summarizers.extractive import Extractive, value_of
from harmony_mem.summarizers.text import mark_of
from harmony_mem.types import Item, Source, Summary

from .summarizer_conformance import sources_of

estimate = hm.TokenCounter.named("estimate").count


def summed(
    *texts: str | tuple[str, str], previous: Summary | None = None, target: int = 600, first: int = 1
) -> Summary:
    return Extractive().summarize(sources_of(*texts, first=first), previous, target, estimate)


def texts(summary: Summary) -> list[str]:
    return [item.text for item in summary.items]


CHAT = [
    "今天天气真不错啊。", "哈哈，你说得对。", "嗯，好的。", "你觉得呢？", "那是什么意思？", "谢谢，辛苦了。",
    "我先去吃个饭。",
    "What do you think?", "Haha, that is funny.", "Ok, thanks a lot.", "How does it work?",
    "It was nice talking to you.",
]  # fmt: skip

FACTS = [
    ("我姓欧阳，单名一个修字。", "欧阳"),
    ("大家都叫我老梁，我是社区医院的护士长。", "社区医院的护士长"),
    ("我们公司叫北辰软件，做地图的。", "北辰软件"),
    ("微信和电话都是13612345678。", "13612345678"),
    ("座机0571-88990011，上班时间有人。", "0571-88990011"),
    ("发邮件到ops+weekly@mail.example.org就行。", "ops+weekly@mail.example.org"),
    ("快递寄到成都市锦江区春熙路12号。", "春熙路12号"),
    ("我家住在和平里东街7号院3单元。", "和平里东街7号"),
    ("身份证号110101199001011234，别外传。", "110101199001011234"),
    ("会员卡号是VIP-88231。", "VIP-88231"),
    ("车牌号粤B12345。", "B12345"),
    ("我对青霉素过敏。", "青霉素过敏"),
    ("孩子不能吃鸡蛋。", "不能吃鸡蛋"),
    ("我妈有糖尿病，少放糖。", "糖尿病"),
    ("我比较喜欢靠窗的座位。", "靠窗的座位"),
    ("我最讨厌香菜。", "讨厌香菜"),
    ("预算控制在3500元以内。", "3500元"),
    ("最迟6月18日必须交稿。", "6月18日"),
    ("截止日期是2027-01-15。", "2027-01-15"),
    ("我们最后决定用第二套图纸。", "第二套图纸"),
    ("以后每周一早上提醒我交周报。", "每周一早上"),
    ("我生日是9月23号。", "9月23号"),
    ("我女儿叫朵朵，今年六岁。", "朵朵"),
    ("打电话找我请在晚上8点以后。", "晚上8点以后"),
    ("紧急联系人是我弟弟何伟。", "何伟"),
    ("My name is Priya Natarajan.", "Priya Natarajan"),
    ("I'm Oliver, I run a small bakery in Leeds.", "bakery in Leeds"),
    ("I work at Bluewater Shipping as an accountant.", "Bluewater Shipping"),
    ("You can text me at 415-555-0136.", "415-555-0136"),
    ("Send the invoice to billing@northwind.example.com, please.", "billing@northwind.example.com"),
    ("Please deliver it to 221 Baker Street, second floor.", "221 Baker Street"),
    ("My passport number is X4419023.", "X4419023"),
    ("My membership ID is GOLD-7731.", "GOLD-7731"),
    ("I have a severe shellfish allergy.", "shellfish allergy"),
    ("I'm vegetarian, so no bacon.", "vegetarian"),
    ("I always prefer the aisle seat on long flights.", "aisle seat"),
    ("My favorite composer is Sibelius.", "Sibelius"),
    ("Our budget is $4,500 for the whole trip.", "$4,500"),
    ("The deadline is October 9, 2026.", "October 9, 2026"),
    ("We decided to go with the blue design.", "blue design"),
    ("My daughter Mia is turning seven.", "daughter Mia"),
    ("From now on, answer me in French.", "answer me in French"),
    ("I was born in 1988 in Lisbon.", "born in 1988"),
    ("You must never call before 10 am.", "never call before 10 am"),
]


@pytest.mark.parametrize(("said", "value"), FACTS, ids=[value for _, value in FACTS])
def test_a_fact_outlives_small_talk(said: str, value: str) -> None:
    """Said first, then 480 messages of talk in 12 blocks, with the summary of each block the next one's previous."""
    summary = summed(said, *CHAT * 3)
    for block in range(12):
        summary = summed(*CHAT * 3, previous=summary, first=40 * (block + 1))
    assert value in summary.text


def test_all_facts_fit_side_by_side() -> None:
    kept = summed(*(said for said, _ in FACTS), target=900).text
    assert sum(value in kept for _, value in FACTS) >= 0.95 * len(FACTS)


@pytest.mark.parametrize("text", CHAT)
def test_small_talk_and_questions_are_not_kept(text: str) -> None:
    assert texts(summed(text)) == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("对了，我花生过敏，你们几点下班？", "我花生过敏"),
        ("我的手机是13612345678，你那边收得到短信吗？", "我的手机是13612345678"),
        ("My budget is $900, is that enough?", "My budget is $900"),
        ("Hi there! My name is Ana.", "My name is Ana"),
    ],
)
def test_the_question_beside_a_fact_goes(text: str, kept: str) -> None:
    assert texts(summed(text)) == [kept]


def test_a_bare_answer_keeps_its_question() -> None:
    summary = summed(("assistant", "好的。请问怎么称呼？"), "王小明", ("assistant", "一共几位用餐？"), "6位")
    assert texts(summary) == ["请问怎么称呼？王小明", "一共几位用餐？6位"]
    assert [item.source_seqs for item in summary.items] == [(1, 2), (3, 4)]


# ---------------------------------------------------------------------------------------------------- superseded
@pytest.mark.parametrize(
    ("said", "gone", "stays"),
    [
        (["手机号13612345678", "手机号改成13712345678"], "13612345678", "13712345678"),
        (["我的邮箱是a.li@example.com", "邮箱换成b.li@example.com"], "a.li@example.com", "b.li@example.com"),
        (["送到文三路90号", "地址改为张江路5号"], "文三路90号", "张江路5号"),
        (["我住在文三路90号", "我搬家了，新地址是张江路5号"], "文三路90号", "张江路5号"),
        (["预算5000元", "预算改成8000元"], "5000元", "8000元"),
        (["项目期限是2026年4月5日", "期限推迟到2026年5月8日"], "4月5日", "5月8日"),
        (["服务器端口是9100，别弄错", "不是9100，是9102"], "端口是9100", "9102"),
        (["会议定在3月5日下午两点", "把3月5日改成3月6日"], "定在3月5日", "3月6日"),
        (["订了3月6日的会议室", "取消3月6日的会议室"], "订了3月6日", "取消"),
        (["My phone is 206-555-0142.", "Actually, my phone is 206-555-0199."], "206-555-0142", "206-555-0199"),
        (["My email is a@example.com", "I changed my email to b@example.com"], "a@example.com", "b@example.com"),
        (["The budget is $12,000.", "I meant $15,000, not $12,000 for the budget."], "budget is $12,000", "$15,000"),
        (["The deadline is March 5, 2026.", "The deadline moved to March 12, 2026."], "March 5", "March 12"),
        (["Book room 1204 for me", "Book room 1306 instead of room 1204"], "Book room 1204", "1306"),
    ],
)
def test_what_is_corrected_goes(said: list[str], gone: str, stays: str) -> None:
    together = summed(*said)
    assert gone not in together.text
    assert stays in together.text
    apart = summed(said[1], previous=summed(said[0]), first=9)
    assert gone not in apart.text
    assert stays in apart.text


@pytest.mark.parametrize(
    "said",
    [
        ["我的手机13612345678", "Kevin的手机改成13712345678"],  # another's phone
        ["最晚2026年4月5日验收", "例会改到3月6日上午"],  # another date
        ["总价186,400元", "运费改成560元"],  # another amount
        ["我的手机13612345678", "手机改了再告诉你"],  # no new value
        ["要两台", "不是3台"],
        ["My phone is 206-555-0142", "Tom's phone number changed to 206-555-0199"],
        ["I am allergic to nuts", "Actually, let's meet on Friday"],
    ],
)
def test_a_correction_of_something_else_takes_nothing(said: list[str]) -> None:
    assert texts(summed(*said))[: len(texts(summed(said[0])))] == texts(summed(said[0]))


def test_what_else_a_corrected_statement_says_stays() -> None:
    summary = summed("手机13612345678，邮箱a.li@example.com", "手机改成13712345678")
    assert texts(summary) == ["邮箱a.li@example.com", "手机改成13712345678"]
    assert [item.source_seqs for item in summary.items] == [(1,), (2,)]


def test_what_is_said_again_is_kept_once() -> None:
    summary = summed(
        "合同号HT-2025-0917B。", "对，合同号 HT-2025-0917B！", "合同号是HT-2025-0917B", "我花生过敏", "我花生过敏。"
    )
    assert texts(summary) == ["合同号HT-2025-0917B", "我花生过敏"]


# ---------------------------------------------------------------------------------------------------- form
def test_items_are_quotes_in_order() -> None:
    """Each item, its mark apart, is a slice of the message that it cites, or of two: a question and its answer."""
    conversation = generate(2000)
    sources = [Source(i, 0, message) for i, message in enumerate(conversation.messages, 1)]
    by_seq = {source.seq: text_of(source.message) for source in sources}
    summary: Summary | None = None
    for start in range(0, len(sources), 25):
        summary = Extractive().summarize(sources[start : start + 25], summary, 600, estimate)
        for item in summary.items:
            quote = item.text[len(mark_of(item.text)) :]
            if len(item.source_seqs) == 1:
                assert quote in by_seq[item.source_seqs[0]] or ('"' in quote and mark_of(item.text))
            else:
                question, answer = (by_seq[seq] for seq in item.source_seqs)
                assert any(quote[:i] in question and quote[i:] in answer for i in range(1, len(quote)))
        assert [item.source_seqs[0] for item in summary.items] == sorted(item.source_seqs[0] for item in summary.items)
        assert ground(summary, sources[: start + 25], None)[1] == 0
    assert summary is not None
    assert len(summary.items) > 10


def test_who_said_it_is_told() -> None:
    summary = summed(
        ("assistant", "我们承诺：三天内上门。"),
        ("assistant", "I promise to call back by Friday."),
        ("tool", '{"order_id": "SO-77120", "status": "shipped", "eta": "2026-03-05", "note": "x"}'),
    )
    assert texts(summary) == [
        "助手：我们承诺：三天内上门",
        "[assistant] I promise to call back by Friday",
        '[tool] "order_id": "SO-77120", "status": "shipped", "eta": "2026-03-05"',
    ]


def test_the_user_outranks_the_assistant() -> None:
    said = "请3月5日下午3点把合同送到前台"
    user, assistant = value_of(Item(said, (9,))), value_of(Item(f"助手：{said}", (9,)))
    assert user > assistant > 0


def test_early_facts_outrank_late_ones_and_facts_outrank_news() -> None:
    early, late = value_of(Item("我花生过敏", (3,))), value_of(Item("我花生过敏", (900,)))
    assert early > late > value_of(Item("那就明天下午3点吧", (3,)))


def test_keywords() -> None:
    summary = summed(
        "合同号HT-2025-0917B", "我花生过敏", "Lumen对接人Kevin Tan", "合同要盖章，合同一式两份，必须寄到文三路90号"
    )
    assert "合同" in summary.keywords
    assert "HT-2025-0917B" in summary.keywords
    assert "Lumen" in summary.keywords
    assert len(summary.keywords) <= 12
    many = summed(*(f"My member ID is ABC{i}-X, contract number QQ{i}, I prefer topic{i}" for i in range(40)))
    assert len(many.keywords) == 12


def test_nothing_worth_keeping_is_an_empty_summary() -> None:
    assert summed("你好") == Summary([])
    assert summed("你好", previous=Summary([Item("我花生过敏", (1,))]), first=2).text == "我花生过敏"


def test_a_previous_summary_of_another_summariser_is_kept() -> None:
    """Prose that holds no pattern at all: a model found it worth keeping."""
    previous = Summary([Item("the mood was friendly throughout", (1, 2, 3))])
    assert "friendly" in summed("我花生过敏", previous=previous, first=4).text


@pytest.mark.parametrize("target", [0, 1, 10, 40, 100, 300, 1000])
def test_the_target_holds(target: int) -> None:
    summary = summed(*(said for said, _ in FACTS), target=target)
    assert estimate("\n".join(f"- {text}" for text in texts(summary))) <= target
    assert target < 40 or summary.items


def test_one_answer_in_every_process() -> None:
    """Nothing depends on the order of a set, which differs between processes."""
    code = (
        "from harmony_mem.summarizers.extractive import Extractive\n"
        "from harmony_mem.simulate.generate import generate\n"
        "from harmony_mem.types import Source\n"
        "s = [Source(i, 0, m) for i, m in enumerate(generate(2001).messages, 1)]\n"
        "a = Extractive().summarize(s[:150], None, 400, len); a = Extractive().summarize(s[150:], a, 400, len)\n"
        "print(a.text.encode(), a.keywords)"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, cwd=os.path.dirname(hm.__path__[0]),
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(answers) == 1
    assert len(answers.pop()) > 200


# ---------------------------------------------------------------------------------------------------- cost
def test_the_work_does_not_grow_with_what_was_before() -> None:
    """A call sees its sources and a summary of bounded size: the counter is called a bounded number of times, and each
    statement meets a bounded number of others."""
    calls = []

    def counted(text: str) -> int:
        calls[-1] += 1
        return len(text)

    summary: Summary | None = None
    for block in range(40):
        calls.append(0)
        block_texts = [f"客户{block}-{i}的合同号HT-{block}-{i}，预算{block * 100 + i}元" for i in range(50)]
        summary = Extractive().summarize(sources_of(*block_texts, first=1 + 50 * block), summary, 600, counted)
    assert max(calls[1:]) <= 400
    assert max(calls[20:]) <= 1.5 * max(calls[1:20])


def test_many_corrections_of_one_value() -> None:
    """All of one slot, each correcting the one before: the worst case for what is superseded."""
    sources = [Source(i, 0, {"role": "user", "content": f"电话改成139{i:08d}"}) for i in range(1, 20_001)]
    summary = Extractive().summarize(sources, None, 600, estimate)
    assert texts(summary) == ["电话改成13900020000"]


@pytest.mark.parametrize(
    "unit", ["1", "a", "1,", "1.", "a.b@", "中", "路1", "不是", "+1 ", "my a ", '"id": "', "，", "3月", "not "]
)
def test_no_text_is_slow(unit: str) -> None:
    """A megabyte of what patterns stumble over: quadratic matching would run into the tests' limit in time."""
    message: dict[str, Any] = {"role": "user", "content": unit * (1_000_000 // len(unit))}
    summary = Extractive().summarize([Source(1, 0, message)], None, 600, estimate)
    assert estimate(summary.text) <= 600
    assert ground(summary, [Source(1, 0, message)], None)[1] in (0, 1)


# ---------------------------------------------------------------------------------------------------- the goal
def replayed(conversation: Conversation) -> tuple[float, float]:
    """(facts in the last prompt, mean tokens of the summary) by the summary memory's own rule: when recent messages
    exceed 1,600 tokens, all but the last two, rounded out to a turn, are condensed into 600 tokens."""
    summary: Summary | None = None
    recent: list[tuple[int, dict[str, Any]]] = []
    sizes = []
    for seq, message in enumerate(conversation.messages, 1):
        if message["role"] == "system":
            continue
        if message["role"] == "assistant":
            if sum(estimate(text_of(m)) + 5 for _, m in recent) > 1600:
                cut = len(recent) - 2
                while cut and recent[cut][1]["role"] != "user":
                    cut -= 1
                sources = [Source(s, 0, m) for s, m in recent[:cut]]
                if sources:
                    summary = Extractive().summarize(sources, summary, 600, estimate)
                    recent = recent[cut:]
            sizes.append(estimate(summary.text) if summary else 0)
            shown = "\n".join([summary.text if summary else "", *(text_of(m) for _, m in recent)])
            kept = fmean(fact.value in shown for fact in conversation.facts)
        recent.append((seq, message))
    return kept, fmean(sizes)


def test_early_facts_of_the_shipped_conversation() -> None:
    kept, size = replayed(shipped())
    assert kept >= 0.95
    assert size <= 400, "what the summary takes of every prompt"


def test_early_facts_of_unseen_conversations() -> None:
    runs = [replayed(generate(seed)) for seed in range(3000, 3010)]
    assert fmean(kept for kept, _ in runs) >= 0.95
    assert fmean(size for _, size in runs) <= 400
