"""Grounding: what a summary may say again in another form, and what it must not make up."""

from __future__ import annotations

from typing import Any

import pytest

from harmony_mem.summarizers.exact import normalised, values_of
from harmony_mem.summarizers.grounding import ground
from harmony_mem.types import Item, Source, Summary

# 2026-02-10 08:00 UTC
TIME = 1_770_710_400_000


def source(text: str, seq: int = 1, role: str = "user", **more: Any) -> Source:
    return Source(seq, TIME, {"role": role, "content": text, **more})


def grounded(said: str, told: str) -> bool:
    summary, dropped = ground(Summary([Item(told, (1,))]), [source(said)], None)
    assert len(summary.items) + dropped == 1
    return not dropped


# (what the message says, what the summary says)
SAME = [
    # numbers, however they are written
    ("一共1,280元", "总价1280元"),
    ("一共1280元", "总价 1,280 元"),
    ("一共１２８０元", "总价1280元"),
    ("一共１，２８０元", "总价1280元"),
    ("total is $1,280.00", "the total is $1280"),
    ("total is $1,280,500", "total: 1280500"),
    ("二百四十个人参加", "240个人参加"),
    ("240人", "二百四十人"),
    ("一千零五元", "1005元"),
    ("两千五百元", "2500元"),
    ("两千五百元", "两千五百元"),
    ("三十二台", "32台"),
    ("要两台", "要2台"),
    ("一共十台", "一共10台"),
    ("十五个人", "15个人"),
    ("预算18.6万元", "预算186000元"),
    ("合同总价186,400元", "合同价18.64万元"),
    ("一万两千元", "12000元"),
    ("付三成，百分之三十", "付30%"),
    ("付30%", "付百分之三十"),
    ("付 30 %", "付30%"),
    ("30 percent off", "30% off"),
    ("打九二折", "打92折"),
    ("打九二折", "打9.2折"),
    ("打8.5折", "打八五折"),
    ("重25.40公斤", "重25.4kg"),
    ("300 dpi", "300dpi"),
    ("max 20MB per mail", "max 20 MB per mail"),
    ("等2小时", "等 2 小时"),
    ("salary is 85k", "salary is 85,000"),
    ("1.5 million users", "1,500,000 users"),
    ("价格在100-200元", "价格100-200元"),
    ("between 100 and 200", "100-200"),
    ("价格在100~200元", "价格在100到200元"),
    # dates
    ("2026年3月5日交货", "2026-03-05交货"),
    ("2026-03-05 交货", "2026年3月5日交货"),
    ("2026/3/5 交货", "2026年3月5日交货"),
    ("2026.3.5 交货", "3月5日交货"),
    ("2026年3月5日交货", "3月5号交货"),
    ("2026年三月五日交货", "3月5日交货"),
    ("二〇二六年三月五日交货", "2026-03-05交货"),
    ("3月5日交货", "2026年3月5日交货"),  # the year is the message's own
    ("due March 5, 2026", "due 2026-03-05"),
    ("due on the 5th of March", "due March 5"),
    ("due Mar 5th", "due 5 March"),
    ("due 2026-03-05T09:30:00+08:00", "due March 5, 2026 at 9:30 am"),
    ("3月5日开会", "5号开会"),
    ("开会的日子是3/5", "3月5日开会"),
    ("2025年11月28日", "11月底前，即2025年11月28日"),
    # times of day
    ("三点开会", "3点开会"),
    ("下午三点半开会", "15:30开会"),
    ("下午3点到5点半", "15:00到17:30"),
    ("15:30开会", "下午3点半开会"),
    ("15:30开会", "下午三点三十分开会"),
    ("at 3 pm", "at 15:00"),
    ("at 3:30 p.m.", "at 3:30 pm"),
    ("at 09:05", "at 9:05 am"),
    ("晚上8点", "20:00"),
    ("中午12点半", "12:30"),
    ("三点一刻", "3:15"),
    # phones, mail, codes, pages
    ("电话139-0000-4127", "电话13900004127"),
    ("电话13900004127", "电话139 0000 4127"),
    ("电话+86 139-0000-4127", "电话139-0000-4127"),
    ("call (206) 555-0142", "phone: 206-555-0142"),
    ("call +1 206 555 0142", "phone: 206-555-0142"),
    ("座机010-62754070。", "010-62754070"),
    ("Zhou.QiMing@Example.com", "zhou.qiming@example.com"),
    ("合同号ht-2025-0917b", "合同号：HT-2025-0917B"),
    ("合同号ＨＴ－２０２５－０９１７Ｂ", "合同号HT-2025-0917B"),
    ("型号定了HL-X420 Pro", "型号HL-X420 Pro"),
    ("see https://files.example.com/up/T-309.", "upload: https://files.example.com/up/T-309"),
    ("网段是10.20.36.0/24", "网段10.20.36.0/24"),
    ("税号91320500MA0000X42Q", "税号 91320500MA0000X42Q"),
    # quoted names
    ("项目叫云杉计划", "项目名「云杉计划」"),
    ("看了《流浪地球》", "看过“流浪地球”"),
    ("the boat is called Sea Breeze", 'the boat "Sea Breeze"'),
    ("the boat is called sea breeze", "the boat 'Sea Breeze'"),
    ("it's Bob's “Old Mill”", 'it is Bob\'s "old mill"'),
    # no values at all, and numerals that are no numbers
    ("你好", "客户打了招呼"),
    ("这件事很重要", "这件事十分重要，千万别忘，万一出事一定要说"),
    ("两者都可以", "两者都行，统一处理，一起走"),
    ("I can't come", "The user can't come, isn't well and won't call"),
]

INVENTED = [
    ("一共1,280元", "总价1290元"),
    ("二百四十个人参加", "20个人参加"),  # no number is grounded by a part of a longer one
    ("240 people", "20 people"),
    ("240 people", "24 people"),
    ("240 people", "40 people"),
    ("1,280元", "280元"),
    ("1280元", "128元"),
    ("3.14", "14"),
    ("要两台", "要3台"),
    ("要两台", "要12台"),
    ("付30%", "付3%"),
    ("30元", "30%"),
    ("付30%", "付50%"),
    ("打九二折", "打八二折"),
    ("打九二折", "打9折"),
    ("预算18.6万元", "预算18.6元"),
    ("预算1280元", "预算1280美元"),
    ("the price is $50", "the price is €50"),
    ("2026年3月5日", "2026年3月6日"),
    ("2026年3月5日", "2026年5月3日"),
    ("2026年3月5日", "2025年3月5日"),
    ("3月5日交货", "2024年3月5日交货"),
    ("2026-03-05", "5月"),
    ("due March 5", "due March 15"),
    ("due March 5", "due May 5"),
    ("3月5日开会", "15号开会"),
    ("3月5日开会", "买5台"),  # a day is no count
    ("下午3点开会", "上午3点开会"),
    ("下午3点开会", "4点开会"),
    ("下午3点开会", "3点半开会"),
    ("15:30", "16:30"),
    ("at 3 pm", "at 3 am"),
    ("下午3点开会", "要3台"),
    ("买3台", "3点开会"),
    ("电话139-0000-4127", "电话139-0000-4128"),
    ("电话139-0000-4127", "尾号4127"),
    ("电话13900004127", "电话3900004127"),
    ("zhou.qiming@example.com", "zhou.qiming@example.org"),
    ("zhou.qiming@example.com", "qiming@example.com"),
    ("合同号HT-2025-0917B", "合同号HT-2025-0917C"),
    ("合同号HT-2025-0917B", "合同号0917B"),
    ("型号HL-X420 Pro", "型号HL-X42 Pro"),
    ("https://files.example.com/up/T-309", "https://files.example.com/up/T-308"),
    ("网段10.20.36.0/24", "网段10.20.36.1/24"),
    ("项目叫云杉计划", "项目名「云松计划」"),
    ("看了《流浪地球》", "看过《流浪地球2》"),
    ("the boat is called Sea Breeze", 'the boat "Sea"gull" Wind"'),
    ("concatenate", 'the word "cat"'),
    ("the boat is called Sea Breeze", "the boat 'Blue Moon'"),
    ("你好", "客户30岁"),
    ("你好", "客户三十岁"),
    ("你好", "预约了3月5日"),
    ("你好", "联系 a@b.example"),
]


@pytest.mark.parametrize(("said", "told"), SAME, ids=[f"{a} > {b}" for a, b in SAME])
def test_the_same_value_in_another_form_is_grounded(said: str, told: str) -> None:
    assert grounded(said, told)


@pytest.mark.parametrize(("said", "told"), INVENTED, ids=[f"{a} > {b}" for a, b in INVENTED])
def test_another_value_is_invented(said: str, told: str) -> None:
    assert not grounded(said, told)


@pytest.mark.parametrize("said", sorted({said for said, _ in SAME + INVENTED}))
def test_a_message_grounds_itself(said: str) -> None:
    assert grounded(said, said)


def test_one_invented_value_costs_its_item_only() -> None:
    summary = Summary(
        [Item("用户要24台", (1,)), Item("总价99元", (1,)), Item("3月5日交货", (2,))], ["24台", "99元", "交货"]
    )
    sources = [source("要24台", 1), source("3月5日交货", 2)]
    kept, dropped = ground(summary, sources, None)
    assert [item.text for item in kept.items] == ["用户要24台", "3月5日交货"]
    assert [item.source_seqs for item in kept.items] == [(1,), (2,)]
    assert kept.keywords == ["24台", "交货"]
    assert dropped == 1
    assert len(summary.items) == 3, "the argument is not changed"


def test_the_previous_summary_is_a_source() -> None:
    previous = Summary([Item("电话139-0000-4127", (1,))])
    kept, dropped = ground(Summary([Item("手机13900004127", (1, 5))]), [source("你好", 5)], previous)
    assert dropped == 0
    assert len(kept.items) == 1
    assert ground(Summary([Item("手机13900004128", (1, 5))]), [source("你好", 5)], previous)[1] == 1


def test_calls_results_parts_and_names_are_sources() -> None:
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "book", "arguments": '{"who": "\\u5f20\\u4e09", "seats": 7}'},
    }
    sources = [
        Source(1, TIME, {"role": "assistant", "content": None, "tool_calls": [call]}),
        source('{"price": 1450, "due": "2026-03-05"}', 2, "tool", tool_call_id="c1"),
        Source(
            3,
            TIME,
            {"role": "user", "content": [{"type": "text", "text": "房间B12"}, {"type": "image_url", "image_url": {}}]},
        ),
    ]
    told = ["订了7个座位，给「张三」", "价格1,450元", "3月5日前", "房间B12"]
    kept, dropped = ground(Summary([Item(text, (1,)) for text in told]), sources, None)
    assert [item.text for item in kept.items] == told
    assert dropped == 0


def test_a_quote_never_spans_two_messages() -> None:
    sources = [source("我住在云杉", 1), source("计划下周去", 2)]
    assert ground(Summary([Item("「云杉计划」", (1,))]), sources, None)[1] == 1


def test_the_year_of_a_message_without_a_time_is_unknown() -> None:
    timeless = [Source(1, 0, {"role": "user", "content": "3月5日交货"})]
    assert ground(Summary([Item("2026年3月5日交货", (1,))]), timeless, None)[1] == 1
    assert ground(Summary([Item("3月5日交货", (1,))]), timeless, None)[1] == 0


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": None},
        {"role": "user", "content": 12},
        {"role": "user", "content": [1, None, {"text": 3}]},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [None, {"function": None}, {"function": {"arguments": "{\\u"}}],
        },
        {"role": "user", "content": "\ud800 12 \x00"},
        {},
    ],
    ids=repr,
)
def test_any_message_can_be_a_source(message: dict[str, Any]) -> None:
    summary = Summary([Item("总价99元", (1,)), Item("你好", (1,))])
    kept, dropped = ground(summary, [Source(1, TIME, message)], None)
    assert [item.text for item in kept.items] == ["你好"]
    assert dropped == 1


def test_numbers_of_any_length() -> None:
    """More digits than int() takes."""
    long = "9" * 10_000
    assert grounded(long, long)
    assert not grounded(long, "9" * 9_999)
    assert not grounded("零" * 10_000 + "个", "七个")


def test_values_have_one_form() -> None:
    def values(text: str) -> list[object]:
        return list(values_of(normalised(text)))

    assert values("2026年3月5日下午3点半") == values("2026-03-05 15:30")
    assert values("一千二百八十元") == values("1,280元") == values("¥1280")
    assert values("第三层") == values("第3层")
