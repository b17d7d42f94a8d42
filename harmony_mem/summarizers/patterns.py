"""What carries facts, as patterns: exact values, and the kinds of statements that people make, in Chinese and English.

A kind has a weight: how much a statement of it is missed when it is gone. Weights from DURABLE on mean that it is worth
its place however long ago it was said (who somebody is, what they must not eat, what was signed); what lies below is
worth a place while it is news.

Chinese and English patterns are apart, and the English ones see the text in lower case: a text is searched only for what
its script can hold, and a pattern whose alternatives begin with plain characters is found many times faster.
"""

from __future__ import annotations

import re

__all__ = ["CAPITALS", "DATE_EN", "DURABLE", "EPISODIC", "KINDS", "SLOTS", "STRONG", "VALUES", "Kind"]

DURABLE = 5.0
EPISODIC = 1.5

# ---------------------------------------------------------------------------------------------------- exact values
_PHONE = (
    r"(?<![\d.-])(?:(?:\+?86[- ]?)?1[3-9]\d[- ]?\d{4}[- ]?\d{4}|0\d{2,3}[- ]\d{7,8}|[48]00[- ]?\d{3,4}[- ]?\d{3,4}"
    r"|(?:\+?\d{1,3}[ .-])?\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}|\+\d[\d -]{7,14}\d)(?![\d-])"
)
_EMAIL = r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,64}(?:\.[A-Za-z0-9-]{1,64}){1,4}"
_CODE = r"(?<![A-Za-z0-9])(?=[A-Za-z0-9_./#-]{0,40}\d)[A-Za-z0-9]{1,30}(?:[-_./#][A-Za-z0-9]{1,30}){0,6}"
_MONTHS = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?"
_DATE_ZH = (
    r"\d{1,4}\s?[年月]|\d{1,2}[日号](?![楼门院线机桌])|周[一二三四五六日天末]|星期[一二三四五六日天]|礼拜[一二三四五六日天]"
    r"|今天|明天|后天|下个?月|年底|月底"
)
_DATE_EN = (
    rf"\b{_MONTHS} \d{{1,2}}(?:st|nd|rd|th)?\b|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTHS}(?![a-z])"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\btomorrow\b|\btonight\b|\bnext (?:week|month|year)\b"
)
_DATE_ISO = r"(?<!\d)\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?!\d)"
_TIME = r"\d{1,2}(?:[:：]\d{2}|\s?点(?![击了儿头心评名餐]))|[一二三四五六七八九十两]{1,3}点(?![击了儿头心评名餐])|\d\s?[ap]\.?m\b|\bnoon\b"
_NUM = r"(?<![\d,.])\d[\d,]{0,23}(?:\.\d{1,8})?"
_AMOUNT = (
    rf"[¥￥$€£]\s?{_NUM}|(?:rmb|usd|cny|eur)\s?{_NUM}|{_NUM}\s?(?:元|块钱?|万元?|亿|人民币|美元|美金|欧元|港币|日元|rmb|usd|cny"
    r"|dollars?|bucks|euros?|yuan)(?![a-z])|[一二三四五六七八九十百千两]{1,8}(?:元|块钱)"
)
_QUANTITY = (
    r"(?<![\d.])\d[\d.]{0,15}\s?(?:[台套件个位人份次张卷箱桶辆间晚天年月周岁米克斤度层楼线条分]|小时|公斤|公里|厘米|毫米|平米|兆|%|％|kg|km|cm|mm|gb|mb"
    r"|hour|day|week|month|year|people|person|guest|night|minute|mile|pound|lbs|sq|percent)"
    r"|[一二三四五六七八九十两]{1,3}(?:台|套|位|份|间|晚|个人|小时)"
)
_QUOTED = r"「[^」\n]{1,40}」|《[^》\n]{1,40}》|“[^”\n]{1,40}”|\"[^\"\n]{2,40}\""
_NAME = r"(?<![.!?。！？] )(?<!^)(?<![A-Za-z])[A-Z][a-z]{1,20}(?: [A-Z][a-z]{1,20}){1,3}"

VALUES: list[tuple[str, float, bool, re.Pattern[str]]] = [
    ("phone", 5.0, True, re.compile(_PHONE)),
    ("email", 5.0, False, re.compile(_EMAIL)),
    ("amount", 2.0, True, re.compile(_AMOUNT, re.IGNORECASE)),
    ("date", 1.6, True, re.compile(rf"{_DATE_ISO}|\d{{1,4}}\s?[年月]|\d{{1,2}}[日号](?![楼门院线机桌])")),
    (
        "date",
        1.2,
        False,
        re.compile(r"周[一二三四五六日天末]|星期[一二三四五六日天]|礼拜[一二三四五六日天]|[今明后]天|下个?月|[年月]底"),
    ),
    ("code", 1.6, True, re.compile(rf"(?=[a-z\d_./#-]{{0,40}}[A-Za-z_./#-]){_CODE}", re.IGNORECASE)),
    ("quoted", 1.2, False, re.compile(_QUOTED)),
    ("time", 1.2, True, re.compile(r"\d{1,2}(?:[:：]\d{2}|\s?点(?![击了儿头心评名餐])|\s?[aApP]\.?[mM]\b)")),
    ("name", 0.8, False, re.compile(_NAME)),
    ("quantity", 0.8, True, re.compile(_QUANTITY, re.IGNORECASE)),
]
"""(what, weight, whether it needs a digit, pattern) of what must be kept word for word."""
DATE_EN = re.compile(_DATE_EN)

STRONG = re.compile(
    rf"{_EMAIL}|{_PHONE}|(?<!\d)\d{{4}}年\d{{1,2}}月\d{{1,2}}[日号]?|{_DATE_ISO}|(?=[A-Za-z0-9-]{{0,30}}[A-Za-z])(?=[A-Za-z0-9-]{{0,30}}\d){_CODE}"
    r"|\d{1,3}(?:,\d{3})+|(?<!\d)\d{4,}(?!\d)"
)
"""Values that do not occur by chance: what holds the same ones says the same thing."""

# ---------------------------------------------------------------------------------------------------- statements


class Kind:
    """One kind of statement, in Chinese and in English (lower case).

    slot: there is one value of it at a time, so that a correction replaces the earlier one. needs: a digit, without
    which the patterns are not tried ("digit"), a date or time ("when"), or nothing.
    """

    __slots__ = ("en", "name", "needs", "slot", "weight", "zh")

    def __init__(
        self, name: str, weight: float, zh: str = "", en: str = "", *, slot: bool = False, needs: str = ""
    ) -> None:
        self.name = name
        self.weight = weight
        self.zh = re.compile(zh) if zh else None
        self.en = re.compile(en) if en else None
        self.slot = slot
        self.needs = needs


_ID_WORDS = (
    r"(?:合同|协议|税|纳税人|信用代码|身份证|护照|会员|客户|账户|账|帐户?|银行卡|卡|学|工|车牌|社保|病历|保单|许可证?)"
)
_NUMBERED = r"(?:订单|运单|快递单?|序列|航班|车次|房间?|座位|发票|批次|工单|预[订约]|确认|流水|资产)"
_LABEL = r"(?:编?号码?|识别号|代码)?\s?(?:是|为|写|用|叫|:|：|=)?\s?"
_WHEN_ZH = rf"(?:{_DATE_ISO}|{_DATE_ZH}|{_TIME})"
_WHEN_EN = rf"(?:{_DATE_EN}|{_DATE_ISO}|{_TIME})"

KINDS: list[Kind] = [
    Kind(
        "name",
        10,
        r"我(?:叫|姓(?!什么)|的(?:名字|姓名|全名)|是(?![说想要不在从来去怕问个这那第觉担认为就还很太真刚先一对做])[^，。！？\s]{2,14})|敝姓|免贵姓"
        r"|怎么称呼|贵姓|(?:姓名|名字|联系人|称呼)\s?(?:是|叫|写|填|:|：)|叫我[^，。\s]{2,8}",
        r"\bmy (?:full |first |last )?name(?:'s| is)|\bcall me [a-z]+|\bthis is [a-z]+ (?:from|at|with)\b|\bi go by\b|\b(?:first|last|full) name:",
        slot=True,
    ),
    Kind(
        "company",
        8,
        r"(?:公司|单位|企业|学校|医院|抬头)(?:名称?|全称)?\s?(?:是|叫|为|写|:|：)|我们?(?:在|是|来自)[^，。\s]{2,16}(?:工作|上班|任职|公司|集团|厂)"
        r"|[^，。\s]{2,16}(?:有限公司|有限责任公司|股份公司)",
        r"\bi work (?:at|for|in|as)\b|\bmy (?:company|employer|firm|job|title)\b|\bour company is\b|\bcompany(?: name)?:",
        slot=True,
    ),
    Kind(
        "personal",
        6.5,
        r"家里?有(?:个|位|一位|一个|两个)?(?:老人|老年人|长辈|小孩|孩子|宝宝|婴儿|病人|残疾人|宠物|猫|狗)|生日|出生|\d岁|家住|住在|老家|结婚|血型|星座|我(?:们|的|家)?(?:老婆|老公|妻子|丈夫|孩子|儿子|女儿|爱人|女友|男友|女朋友|男朋友|爸|妈|父|母|狗|猫)",
        r"\bi(?:'m| am) (?:\d{1,3}|a|an|from) |\bi live\b|\byears? old\b|\bborn\b|\bbirthday\b|\bmy [a-z]+(?:'s)? name\b"
        r"|\bmy (?:wife|husband|spouse|partner|son|daughter|kids?|child(?:ren)?|mom|mother|dad|father|brother|sister|friend|boss|dog|cat|age"
        r"|girlfriend|boyfriend|roommate|family|home)(?:'s|s)?(?: [a-z]+)? (?:is|are|was|has|have|name|named|works|lives|turns|loves|likes)\b",
    ),
    Kind(
        "allergy",
        11,
        r"过敏|忌口|忌食|不(?:能|可以|敢|可)(?:吃|喝|碰|沾|闻)|不吃(?!了)|吃素|素食|清真|糖尿病|高血压|哮喘|怀孕|孕妇|不耐受?|恐高|晕[车船]|色盲|心脏病",
        r"\b(?:allerg|vegetarian|vegan\b|gluten|halal\b|kosher\b|diabet|asthma|pregnan|intoleran)"
        r"|\b(?:can't|cannot|can not|don't|do not|doesn't) (?:eat|drink|have (?:any )?(?:dairy|nuts|sugar|meat))\b",
    ),
    Kind(
        "phone",
        9,
        rf"(?:手机|电话|号码|微信|联系方式).{{0,24}}?{_PHONE}|^{_PHONE}",
        rf"\b(?:phone|cell|mobile|tel)\b.{{0,24}}?{_PHONE}|^{_PHONE}",
        slot=True,
        needs="digit",
    ),
    Kind("email", 9, _EMAIL, _EMAIL, slot=True),
    Kind(
        "address",
        8.5,
        r"[路街道巷弄](?<=[一-鿿]{2})[一-鿿]{0,4}\s?\d+\s?[号弄]|\d+号楼\d*[^，。]{0,6}[层室单]"
        r"|(?:地址|收货|送货|寄|送|发)(?:就|请)?(?:是|写|到|在|去|:|：)[^，。？]{0,4}[一-鿿]{2,12}[省市区县镇园村厦场]",
        r"\b\d{1,6} (?:[nsew]\.? )?[a-z0-9]+(?: [a-z]+){0,3} (?:street|st|avenue|ave|road|rd|boulevard|blvd|lane|ln|drive|dr|way|court|ct|square)\b"
        r"|\b(?:my|our|shipping|delivery|billing|home) address\b|\bship (?:it |them )?to \d",
        slot=True,
    ),
    Kind(
        "identifier",
        8.5,
        rf"{_ID_WORDS}{_LABEL}{_CODE}|车牌号?(?:是|为|:|：)?[一-鿿]?{_CODE}",
        r"\b(?:contract|tax|vat|account|member(?:ship)?|passport|policy|user|customer|employee|license|loyalty|frequent flyer|ssn|patient)"
        rf"(?: (?:id|no\.?|number|#|code))?(?: is|:| =)? ?#?(?=\S{{0,20}}\d){_CODE}",
        needs="digit",
    ),
    Kind(
        "number",
        4,
        rf"{_NUMBERED}{_LABEL}{_CODE}",
        r"\b(?:order|invoice|reservation|confirmation|booking|tracking|flight|serial|case|ticket|room|seat)"
        rf"(?: (?:id|no\.?|number|#|code))?(?: is|:| =)? ?#?(?=\S{{0,20}}\d){_CODE}",
        needs="digit",
    ),
    Kind(
        "model",
        7,
        rf"(?:型号|款式|机型)[^，。]{{0,6}}?{_CODE}|我们?(?:要|买|订|选|用)的是\s?[A-Za-z\d]",
        rf"\bmodel(?: number)?(?: is|:)? ?{_CODE}",
        slot=True,
        needs="digit",
    ),
    Kind(
        "total",
        7.5,
        rf"(?:总价|总额|总金额|合同(?:总)?(?:价|额|金额)|价格|金额|预算|报价|单价|定金|押金|首付|预付款?|尾款|费用|工资|月薪|房租)[^，。？]{{0,10}}?{_NUM}"
        r"|(?:人均|价位|消费)[^，。？]{0,8}\d",
        rf"\b(?:budget|total|price|deposit|salary|rent|spend|cost)\b[^,.?]{{0,24}}?(?:{_AMOUNT})|(?:{_AMOUNT}) (?:budget|total|deposit)",
        slot=True,
        needs="digit",
    ),
    Kind(
        "discount",
        6.5,
        r"[一二三四五六七八九]{1,2}折|\d折|优惠码|免运费",
        r"\d ?% (?:off|discount)|\bdiscount (?:of|code)\b",
        slot=True,
    ),
    Kind(
        "deadline",
        8,
        rf"(?:最晚|最迟|截止|期限|死线|限期|到期|交期)[^？?]{{0,30}}?{_WHEN_ZH}"
        r"|[日号天点末一二三四五六](?:[^，。？]{0,12}(?:截止|到期|是(?:最后|死线|期限))|[^，。？]{0,4}之?前(?:必须|要|得|全部|完成|交付|上线))",
        rf"\b(?:deadline|no later than|due (?:date|by|on)|expires?)\b[^?]{{0,30}}?{_WHEN_EN}",
        slot=True,
        needs="when",
    ),
    Kind(
        "before",
        3,
        r"[日号天点末一二三四五六][^，。？]{0,3}(?:之前|以前|前)",
        rf"\b(?:by|before|until) {_WHEN_EN}",
        needs="when",
    ),
    Kind(
        "reachable",
        7.5,
        r"(?:[打接来回]个?电话|联系我|找我|有空|方便)[^？?]{0,24}?(?:\d|点|上午|下午|晚上|周末)|点[^？?]{0,14}(?:[打接]电话|联系我|能接|方便)|(?:别|不要|勿|请)(?:打|在)[^，。]{0,6}电话",
        rf"\b(?:call me|reach me|contact me|text me|available|i'm free)\b[^?]{{0,24}}?(?:{_TIME}|morning|afternoon|evening|weekend)|\b(?:don't|do not|never) call\b",
        slot=True,
    ),
    Kind(
        "preference",
        6,
        r"(?:音量|语速|字体|字号|亮度|声音|屏幕|温度)[^，。？?]{0,4}(?:调|开|设|放)?(?:高|低|大|小|慢|快|亮|暗)|喜欢|偏好|偏爱|偏向|讨厌|最爱|爱[吃喝看听]|习惯用|受不了|更想|宁愿|宁可|不爱|尽量(?:不|别|用|安排|避开|选)",
        r"\bi (?:really |usually |always |generally |typically |occasionally |also |absolutely |still |just )*(?:like|love|prefer|enjoy|hate|dislike|avoid|can't stand|only (?:eat|drink|use|fly|wear))\b(?! to (?:see|know|keep|think|say|hear|ask|be|have|get|make|break|believe)| how| that| it| the (?:idea|way|fact))"
        r"|\bi(?:'d| would) (?:rather|prefer)\b|\bmy (?:favou?rite|preferred|preference|usual|go-to)\b|\bi(?:'m| am) (?:a (?:big )?fan|into|not a fan|fond)\b",
    ),
    Kind(
        "standing",
        5.4,
        r"以后(?:都|就|每|别|不|请)|从[今现]在?(?:以后|起|开始)|每[天周晚早月次]|长期",
        r"\bfrom now on\b|\bevery (?:day|night|morning|evening|week|weekend|month|year|other|mon|tues|wednes|thurs|fri|satur|sun)|\bwhenever\b|\beach (?:day|week|month|morning)\b",
    ),
    Kind(
        "decision",
        6.5,
        r"决定(?!吧)|敲定|选定|商定|拍板|定下(?!来的)|定了|说定|谈[妥好]|就[定选用]|最终(?:选|定|用)|不考虑[^，。]{0,8}了|方案[A-Z一二三甲乙丙]?(?:[，：:]|已?定|生效)|以[^，。]{1,12}为准",
        r"\b(?:i|we)(?:'ve| have)? (?:finally |both |all )*(?:decided|settled|chose|chosen|picked|agreed|signed)\b|\b(?:i'll|we'll|i will|let's|we're going to|i'm going to|going to) (?:go with|take|choose|pick|stick with|do the)\b"
        r"|\bfinal (?:decision|choice)\b|\bwe agreed\b",
    ),
    Kind(
        "agreed",
        2.6,
        r"那就|就按|就这么|同意|批准|确认(?!一下)|换吧|已[经为帮给]?您?(?:预订|预约|下单|取消|安排|改|订)|[订约]好|按[^，。]{1,10}[来做办走]",
        r"\b(?:agreed?|approved|confirmed|booked|ordered|purchased|bought|cancell?ed)\b",
    ),
    Kind(
        "promise",
        8,
        r"(?:承诺|保证(?!金)|答应(?:[您你过我了]|客户)|说好了?)(?!的|那|这)[^？?]{4,}|包在我们?身上|负责到底",
        r"\b(?:i|we) (?:promise (?!i'm|i am|it's)|guarantee|commit to|hereby|assure)|\b(?:promised|guaranteed|committed) (?:to|that|me|us|you)\b|\byou have (?:my|our) word\b",
    ),
    Kind(
        "contact",
        6.5,
        r"对外|口径|发言人|代言|统一[找由联听]|(?:联系人|对接人|负责人|接口人|经办人|代理人)(?:是|叫|为|改为|换成|找|:|：)?\s?[^，。\s]{2,}|[归找听][^，。\s]{2,6}(?:管|负责|一个人|一位)",
        r"\b(?:spokes(?:person|man|woman)|point of contact|contact person|in charge of|responsible for|report to|emergency contact|my (?:manager|lawyer|doctor|assistant|accountant))\b",
    ),
    Kind(
        "role",
        3,
        r"由[^，。\s]{2,8}[负定管带处签跟做]|[叫找派让][一-鿿]{2,3}[负跟来做处]|交给[一-鿿]{2,3}|叫[一-鿿]{2,3}$",
        r"\bassigned to\b",
    ),
    Kind(
        "rule",
        3.2,
        r"必须|务必|一定[要得不]|千万[别不要]|不[能可许准得允](?!不)|只[能要在用走收接认找订坐住]|不超过|不低于|不少于|最多|至少|最少|以[内上下]|一律|统一|别(?![人的处家说急客])|不要(?!紧)|要求|规定",
        r"\b(?:must(?:n't)?|never|always|only|no more than|at (?:least|most)|cannot|can't|don't want|needs? to be|require[sd]?|as long as|without)\b",
    ),
    Kind(
        "wish",
        2.6,
        r"我们?(?:想|要|需要|希望|打算|准备|计划)[^，。？]{2,}|[帮给替]我[^，。？]{2,}|麻烦|想[要找去订吃]|需要[^，。？]{2,}|希望|打算",
        r"\bi(?:'d| would) like\b|\bi(?:'m| am) (?:looking|planning|trying|hoping|thinking|going)\b|\bi (?:want|need|plan|hope|wish)\b",
    ),
    Kind(
        "todo",
        2.4,
        r"待办|记得(?![吗我吧不])|别忘|提醒|跟进|记一下|备注|建个?一?个?(?:任务|提醒|日程)",
        r"\b(?:todo|to-do|remind me|remember (?:to|that)|follow up|make sure|keep in mind)\b",
    ),
    Kind(
        "corrected",
        3.5,
        r"改[成为到至用约]|换[成为到用]|更正|纠正|更新为|不是[^，。？]{1,20}[，,]?\s?(?:而)?是|说错|记错|写错|报错了|作废|取消|推迟到|提前到|不[再用]了",
        r"\b(?:actually|instead|correction|i meant|no longer|cancel|rescheduled?|moved? to)\b|\bchanged? (?:it |that |the |my )?.{0,40}\bto\b|\bnot [^,.?]{1,30}[,;]? but\b|\bswitch(?:ed)? (?:it |that |the )?.{0,30}\bto\b",
    ),
    # Only where a short answer was put behind its question.
    Kind("answered", 2.4, r"^[^？?]{2,40}[？?]\s?[^？?]{1,24}$", r"^[^?]{2,40}\? ?[^?]{1,24}$"),
    Kind(
        "owned",
        4.5,
        "",
        r"\b(?:my|our) [a-z]+(?: [a-z]+){0,3} (?:is|are|was|were|has|have|arrived|came|got|broke|costs?|starts?|ends?)\b|\bi (?:have|own|use|drive|play|study|studied|graduated|moved|started|finished|lost|won|bought|adopted|volunteer|speak|teach|run|got)\b",
    ),
]

CAPITALS = ("name", 10.0, re.compile(r"\b(?:I'm|I am) [A-Z][a-z]+(?: [A-Z][a-z]+)?(?=[,.;]| from\b| and\b|$)"))
"""What only capitals tell: "I'm Anna", not "I'm sure"."""

SLOTS = frozenset(kind.name for kind in KINDS if kind.slot)
