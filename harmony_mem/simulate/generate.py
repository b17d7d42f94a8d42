"""Further conversations of the demo's kind from a seed: other customers, goods, facts and topics, for unseen tests.

    conversation = generate(7)          # 120 turns; the same one for the same seed, on every Python

A conversation opens with the registration of 16 facts in its first 15 turns, in an order of its own, goes on with
topics (talk, tool calls, decisions, tasks) that refer back to the facts without repeating them, and ends with the
customer asking for all of them. Two facts are said once more in between, as happens.

Only random.Random(seed).random() is used: Python promises its sequence, and not those of choice or shuffle.
"""

from __future__ import annotations

import json
import random

from .conversation import Conversation, Fact
from .generate_texts import ECHOES, ENGLISH, GIVEN, OPENING, PEOPLE, SYSTEM, TITLES, TOPICS, WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias, TypeVar

    from .conversation import Message

    T = TypeVar("T")
    Lines: TypeAlias = list[tuple[str, str]]  # what follows one user message: ("U" | "A" | "T", text)
    Block: TypeAlias = list[Lines]  # one topic: its turns
    Slots: TypeAlias = dict[str, Any]

__all__ = ["generate"]

FEWEST_TURNS = 20
START_MS = 1_767_574_800_000  # 2026-01-05, 09:00 in China


class _Dice:
    """Draws from random() alone."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def below(self, limit: int) -> int:
        return int(self._random() * limit)

    def between(self, low: int, high: int) -> int:
        return low + self.below(high - low + 1)

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(len(rest))]

    def digits(self, count: int) -> str:
        return "".join(str(self.below(10)) for _ in range(count))


def generate(seed: int, turns: int = 120) -> Conversation:
    """The conversation of this seed, with exactly this many turns (at least 20)."""
    if turns < FEWEST_TURNS:
        raise ValueError(f"a conversation with its facts and topics needs at least {FEWEST_TURNS} turns, not {turns}")
    return _Writer(_Dice(seed), f"generated-{seed}").conversation(turns)


class _Writer:
    """Writes one conversation, message by message, with a clock and a counter of calls."""

    def __init__(self, dice: _Dice, id: str) -> None:
        self.dice = dice
        self.result = Conversation(id, [])
        self.now = START_MS
        self.turn = self.calls = 0
        self.facts = _draw_facts(dice)
        self.slots: Slots = {}

    def conversation(self, turns: int) -> Conversation:
        self.slots = self.draw_slots()
        self.put({"role": "system", "content": SYSTEM.format(bot=self.dice.pick(WORDS["bot"]))}, 0)
        self.opening()
        due = [16 + self.dice.below(turns // 3), turns // 2 + self.dice.below(turns // 3)]
        echoes = self.dice.shuffled(sorted(ECHOES))
        blocks: list[Block] = []
        while self.turn < turns - 1:
            if due and self.turn + 1 >= due[0]:
                due.pop(0)
                asked, answered = ECHOES[echoes.pop()]
                self.user(asked.format_map(self.facts))
                self.assistant(answered)
                continue
            if not blocks:
                blocks = self.dice.shuffled(_BLOCKS)
            self.slots = self.draw_slots()
            # A pause of hours now and then, of a day or more once in a while.
            self.now += self.dice.below(4) * 3_600_000 * (7 if self.dice.below(8) == 0 else 1)
            for lines in blocks.pop()[: turns - 1 - self.turn]:
                self.speak(lines)
        self.user("最后帮我把第一天登记的要点完整报一遍，我写结项报告用。")
        told = "；".join(f"{TITLES[fact.key]}：{fact.value}" for fact in self.result.facts)
        self.assistant(f"好的，逐条报给您。{told}。")
        return self.result

    def opening(self) -> None:
        """Turns 1 to 15: a greeting, who is calling, then the other facts in an order of their own."""
        self.user(
            self.dice.pick(
                ("你好，我来登记一下采购的事。", "在吗？有个设备项目要你帮忙跟。", "您好，想把换设备的需求登记一下。")
            )
        )
        self.assistant("您好，可以的，我先建客户资料。请问怎么称呼，是哪家公司的？")
        self.user(
            self.dice.pick(("我叫{name}，{company}的。", "{company}，我是{name}，负责采购。")).format_map(self.facts)
        )
        self.mark("name", "company")
        self.assistant("好的，姓名和公司都记下了，接下来一项项登记，您慢慢说。")
        for kind in self.dice.shuffled(list(OPENING)):
            said, answers, tool = OPENING[kind]
            values = {**self.slots, **self.facts}
            self.user(self.dice.pick(said).format_map(values))
            self.mark(*kind.split("+"))
            if tool:
                self.tools([tool])
            self.assistant(self.dice.pick(answers).format_map(values))

    def mark(self, *keys: str) -> None:
        self.result.facts += [Fact(key, self.facts[key], self.turn) for key in keys]

    def speak(self, lines: Lines) -> None:
        for kind, text in lines:
            if kind == "U":
                self.user(text.format_map(self.slots))
            elif kind == "A":
                self.assistant(text.format_map(self.slots))
            else:
                self.tools(text.split("+"))

    def user(self, text: str) -> None:
        self.turn += 1
        self.put({"role": "user", "content": text}, self.dice.between(20, 150))

    def assistant(self, text: str) -> None:
        self.put({"role": "assistant", "content": text}, self.dice.between(2, 6))

    def tools(self, names: list[str]) -> None:
        """One round: the calls in one assistant message, then a result for each."""
        calls, results = [], []
        for name in names:
            self.calls += 1
            arguments, result = _TOOLS[name](self.dice, self.slots)
            function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
            calls.append({"id": f"call_{self.calls:03d}", "type": "function", "function": function})
            content = json.dumps({**result, "log": _log(self.dice, self.slots)}, ensure_ascii=False)
            results.append({"role": "tool", "tool_call_id": calls[-1]["id"], "name": name, "content": content})
        self.put({"role": "assistant", "content": None, "tool_calls": calls}, self.dice.between(1, 4))
        for message in results:
            self.put(message, self.dice.between(1, 2))

    def put(self, message: Message, seconds: int) -> None:
        self.now += seconds * 1000
        self.result.messages.append(message)
        self.result.times.append(self.now)

    def draw_slots(self) -> dict[str, Any]:
        """The values of one topic. None of them can contain a fact: dates have no year, amounts stay below 10,000."""
        dice = self.dice
        first = dice.between(1, 26)
        month = dice.between(1, 3)
        slots: dict[str, Any] = {key: dice.pick(WORDS[key]) for key in ("goods", "place", "pack", "fault")}
        slots |= {"p": _name(dice, self.facts), "q": dice.pick(ENGLISH), "h": dice.between(2, 8)}
        slots |= {"d": f"{month}月{first}日", "e": f"{month}月{first + dice.between(1, 2)}日"}
        slots |= {"n": dice.between(6, 60), "m": dice.between(2, 9), "amt": f"{dice.between(1, 9)},{dice.digits(3)}元"}
        return slots | {"code": f"{dice.pick('ABCDEFGH')}{dice.digits(4)}"}


def _draw_facts(dice: _Dice) -> dict[str, str]:
    surname, given = dice.pick(PEOPLE), dice.pick(GIVEN)
    company = dice.pick(WORDS["company1"]) + dice.pick(WORDS["company2"])
    facts = {key: dice.pick(WORDS[key]) for key in ("contact_time", "allergy", "discount", "decision", "promise")}
    facts["name"] = surname[0] + given[:2]
    facts["company"] = company
    facts["phone"] = f"139-0000-{dice.digits(4)}"
    facts["email"] = f"{given[2:]}.{surname[1:]}@example.{dice.pick(('com', 'org', 'net'))}"
    facts["address"] = (
        f"{dice.pick(WORDS['road'])}{dice.between(11, 399)}号{dice.between(1, 9)}号楼{dice.between(2, 6)}层"
    )
    facts["contract"] = f"HT-2026-{dice.digits(4)}{dice.pick('ABCDEFGH')}"
    facts["amount"] = f"{dice.between(101, 980)},{dice.between(1, 9)}00元"
    facts["deadline"] = f"2026年{dice.between(4, 6)}月{dice.between(1, 28)}日"
    series, variant = dice.pick(("QX", "HL", "VT", "MR")), dice.pick(("Pro", "Max", "Lite", "S"))
    facts["model"] = f"{series}-{dice.pick('ABCD')}{dice.digits(3)} {variant}"
    facts["tax_id"] = f"91{dice.digits(6)}MA0000{dice.pick('ABCDEFGH')}{dice.digits(2)}{dice.pick('XYQWT')}"
    facts["spokesperson"] = _name(dice, facts)
    return facts


def _name(dice: _Dice, facts: dict[str, str]) -> str:
    """A Chinese name that is none of the facts."""
    while True:
        name = dice.pick(PEOPLE)[0] + dice.pick(GIVEN)[:2]
        if name not in (facts["name"], facts.get("spokesperson")):
            return name


def _log(dice: _Dice, slots: Slots) -> list[Slots]:
    """What happened to a record so far: the long tail that results of real systems have."""
    events = (
        "录入",
        "资料补全",
        "改派负责人",
        "短信已送达",
        "客户已读",
        "附件上传",
        "排产",
        "质检通过",
        "改期",
        "备注更新",
    )
    hour = dice.between(8, 11)
    return [
        {
            "at": f"{slots['d']} {hour + i:02d}:{dice.between(10, 59)}",
            "event": event,
            "by": dice.pick((slots["p"], slots["q"], "系统")),
        }
        for i, event in enumerate(dice.shuffled(events)[: dice.between(2, 6)])
    ]


def _task(dice: _Dice, slots: Slots) -> tuple[Slots, Slots]:
    arguments = {"title": f"{slots['place']}：{slots['goods']}相关事项", "owner": slots["p"], "due": slots["d"]}
    task = {
        "id": f"T-{dice.between(301, 899)}",
        **arguments,
        "status": "open",
        "priority": dice.pick(("normal", "high", "urgent")),
    }
    reminders = [
        {"before_hours": 24, "channel": "message"},
        {"before_hours": 2, "channel": dice.pick(("message", "card"))},
    ]
    checklist = dice.shuffled(["现场拍照", "双方签字", "上传附件", "通知门岗", "核对序列号"])[:3]
    task |= {"reminders": reminders, "checklist": checklist, "url": f"https://crm.example.com/t/{slots['code']}"}
    return arguments, {"ok": True, "task": task}


def _update(dice: _Dice, slots: Slots) -> tuple[Slots, Slots]:
    task = f"T-{dice.between(301, 899)}"
    arguments = {"task_id": task, "due": slots["e"], "comment": f"由{slots['p']}跟进"}
    history = [{"event": event, "by": dice.pick(ENGLISH)} for event in ("created", "assigned", "rescheduled")]
    return arguments, {
        "ok": True,
        "task": {"id": task, "due": slots["e"], "history": history, "notified": [slots["p"], slots["q"]]},
    }


def _tasks(dice: _Dice, slots: Slots) -> tuple[Slots, Slots]:
    states = ("done", "done", "in_progress", "blocked")
    first = dice.between(301, 880)
    titles = dice.shuffled(["现场勘察", "网线测试", "收货信息补全", "资产标签", "账单核对", "模板转换", "样机借测"])
    tasks = [
        {
            "id": f"T-{first + i}",
            "title": titles[i],
            "status": state,
            "owner": dice.pick((slots["p"], slots["q"])),
            "progress": f"{dice.between(1, 9)}0%",
        }
        for i, state in enumerate(states)
    ]
    return {"status": "all"}, {"tasks": tasks, "blocked_reason": f"缺少{slots['p']}提供的资料", "updated": slots["d"]}


def _calendar(dice: _Dice, slots: Slots) -> tuple[Slots, Slots]:
    busy = ("客户巡检", "内部例会", "质检支持", "设备维修", "新员工带教")
    days = []
    for date in (slots["d"], slots["e"]):
        start = dice.between(8, 11)
        days.append(
            {"date": date, "busy": [{"from": f"{start:02d}:30", "to": f"{start + 2:02d}:00", "what": dice.pick(busy)}]}
        )
        days[-1]["free_hours"] = dice.between(3, 7)
    arguments = {"person": slots["q"], "from": slots["d"], "to": slots["e"]}
    return arguments, {
        "person": slots["q"],
        "timezone": "Asia/Shanghai",
        "days": days,
        "note": f"{slots['place']}附近有客户，可顺路",
    }


def _event(dice: _Dice, slots: Slots) -> tuple[Slots, Slots]:
    arguments = {
        "title": f"{slots['goods']}现场",
        "date": slots["d"],
        "start": f"{12 + slots['h']}:00",
        "place": slots["place"],
    }
    event = {"id": f"EV-{dice.between(1000, 1999)}", **arguments, "attendees": [slots["p"], slots["q"]]}
    event |= {"equipment": dice.shuffled(["投影", "白板", "演示机", "扫码枪", "备用电源"])[:2], "conflicts": []}
    return arguments, {"ok": True, "event": event, "ics": f"https://cal.example.com/{slots['code']}.ics"}


def _order(dice: _Dice, slots: Slots) -> tuple[Slots, Slots]:
    order = f"SO-{dice.digits(5)}"
    lines = [
        {
            "sku": f"{dice.pick('KXRB')}{dice.digits(3)}",
            "qty": dice.between(2, 60),
            "unit": dice.pick(("台", "卷", "套")),
        }
        for _ in range(3)
    ]
    batches = [{"batch": i + 1, "ship": slots["d"], "arrive": slots["e"], "qty": dice.between(4, 30)} for i in range(2)]
    payment = {"terms": "30% 预付 / 60% 到货 / 10% 验收", "prepaid": dice.below(2) == 1}
    return {"order_id": order}, {
        "order_id": order,
        "status": dice.pick(("待排产", "已排产", "部分发货")),
        "lines": lines,
        "batches": batches,
        "payment": payment,
    }


def _product(dice: _Dice, slots: Slots) -> tuple[Slots, Slots]:
    specs = {
        "power_w": dice.between(20, 300),
        "weight_kg": dice.between(1, 19),
        "interfaces": dice.shuffled(["USB", "Ethernet", "RS-232", "Wi-Fi", "BLE"])[:3],
    }
    items = [
        {
            "sku": f"{dice.pick('QVHM')}{dice.digits(3)}",
            "name": slots["goods"],
            "specs": specs,
            "warranty_months": 24,
            "stock": dice.between(0, 90),
        }
    ]
    policy = {"trade_in": slots["amt"], "extend_per_year": slots["amt"], "wearing_parts_months": dice.pick((6, 12))}
    return {"keyword": slots["goods"]}, {
        "total": 1,
        "items": items,
        "policy": policy,
        "doc": f"https://docs.example.com/p/{slots['code']}",
    }


def _stock(dice: _Dice, slots: Slots) -> tuple[Slots, Slots]:
    places = dice.shuffled(["昆山仓", "无锡仓", "嘉兴仓", "太仓仓"])
    stock = [
        {"warehouse": place, "on_hand": dice.between(0, 40), "reserved": dice.between(0, 9), "transfer_days": i}
        for i, place in enumerate(places)
    ]
    incoming = [{"po": f"PO-{dice.digits(4)}", "qty": dice.between(10, 40), "eta": slots["d"]}]
    return {"keyword": slots["goods"]}, {"stock": stock, "incoming": incoming, "earliest_full_ship": slots["d"]}


def _shipping(dice: _Dice, slots: Slots) -> tuple[Slots, Slots]:
    fees = [{"name": name, "fee": dice.between(40, 400)} for name in ("起步价", "里程", "尾板卸货", "保价")]
    quote = {
        "quote_id": f"Q-{dice.digits(5)}",
        "vehicle": dice.pick(("4.2米厢车", "依维柯", "6.8米厢车")),
        "km": dice.between(12, 240),
    }
    return {"to": slots["place"]}, {
        **quote,
        "items": fees,
        "total": slots["amt"],
        "paid_by": "seller",
        "valid_until": slots["e"],
    }


_TOOLS: dict[str, Callable[[_Dice, Slots], tuple[Slots, Slots]]] = {
    "create_task": _task,
    "update_task": _update,
    "list_tasks": _tasks,
    "check_calendar": _calendar,
    "create_event": _event,
    "lookup_order": _order,
    "search_product": _product,
    "check_stock": _stock,
    "get_shipping_quote": _shipping,
}


def _blocks(text: str) -> list[Block]:
    """Reads TOPICS: blocks between empty lines, a turn from each U line on."""
    blocks: list[Block] = []
    for paragraph in text.strip().split("\n\n"):
        block: Block = []
        for line in paragraph.split("\n"):
            kind, words = line.split(" ", 1)
            if kind == "U":
                block.append([])
            block[-1].append((kind, words))
        blocks.append(block)
    return blocks


_BLOCKS = _blocks(TOPICS)
