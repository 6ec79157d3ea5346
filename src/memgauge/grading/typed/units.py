"""Currencies and units: what a number is a number of.

A unit is a dimension and an exact factor. Money has one dimension for each currency, since one is not another; months
and years stand apart from days, since no exact factor joins them. Names that could be two things ("pounds") give both.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import NamedTuple


class Unit(NamedTuple):
    """A dimension and how many of its base unit one is."""

    dimension: str
    factor: Fraction = Fraction(1)

    @property
    def is_money(self) -> bool:
        """Whether it is an amount of a currency."""
        return self.dimension.startswith("money:")


def _money(code: str, factor: Fraction = Fraction(1)) -> Unit:
    return Unit(f"money:{code}", factor)


_CENT = Fraction(1, 100)

_CURRENCIES = """
USD: $ us$ usd us-dollar us-dollars dollar dollars buck bucks u.s._dollars us_dollars us_dollar american_dollars dólares
EUR: € eur euro euros
GBP: £ gbp quid sterling pound_sterling pounds_sterling british_pounds
CAD: cad c$ ca$ can$ canadian_dollars canadian_dollar
AUD: aud a$ au$ australian_dollars australian_dollar
NZD: nzd nz$ new_zealand_dollars
HKD: hkd hk$ hong_kong_dollars
SGD: sgd s$ singapore_dollars
TWD: twd nt$
MXN: mxn mx$ mexican_pesos
BRL: brl r$ reais real
JPY: jpy yen 円
CNY: cny rmb yuan renminbi 元 cn¥
INR: inr ₹ rs rs. rupee rupees
KRW: krw ₩ won 원
CHF: chf sfr fr. swiss_francs swiss_franc francs franken
DKK: dkk danish_kroner danish_krone danish_crowns
SEK: sek swedish_kronor swedish_krona swedish_crowns
NOK: nok norwegian_kroner norwegian_krone
ISK: isk icelandic_krona
PLN: pln zł zloty zlotys złoty
CZK: czk kč koruna korunas
HUF: huf forint forints
RUB: rub ₽ ruble rubles rouble roubles
TRY: try ₺ lira
ILS: ils ₪ shekel shekels nis
THB: thb ฿ baht
VND: vnd ₫ dong
PHP: php ₱
IDR: idr rp rupiah
MYR: myr ringgit
ZAR: zar rand
AED: aed dirham dirhams
SAR: sar riyal riyals
UAH: uah ₴ hryvnia hryvnias
NGN: ngn ₦ naira
"""
_SHARED = {
    "¥": ("JPY", "CNY"),
    "kr": ("DKK", "SEK", "NOK", "ISK"),
    "kr.": ("DKK", "SEK", "NOK", "ISK"),
    "kroner": ("DKK", "NOK"),
    "krone": ("DKK", "NOK"),
    "kronor": ("SEK",),
    "krona": ("SEK", "ISK"),
    "crowns": ("DKK", "SEK", "NOK", "CZK"),
    "peso": ("MXN", "PHP", "ARS", "CLP", "COP"),
    "pesos": ("MXN", "PHP", "ARS", "CLP", "COP"),
}
_CENTS = ("USD", "EUR", "CAD", "AUD", "NZD", "HKD", "SGD")
# dimension: base, then name: factor as written
_UNITS = {
    "time": "s sec secs second seconds sekunden:1 min mins minute minutes minuten minutos:60 h hr hrs hour hours "
    "stunden stunde"
    " heures heure horas hora ore:3600 day days tage tag jours días dias giorni dagen:86400 week weeks "
    "wk wks wochen semaines"
    " semanas weken:604800 fortnight fortnights:1209600 ms millisecond milliseconds:1/1000",
    "calendar": "month months mo mos monate mois meses mesi:1 year years yr yrs jahre ans años anos anni:12 decade "
    "decades:120"
    " quarter-years:3",
    "length": "m meter meters metre metres:1 km kms kilometer kilometers kilometre kilometres:1000 cm centimeter "
    "centimeters"
    " centimetre centimetres:1/100 mm millimeter millimeters millimetre millimetres:1/1000 mile miles mi:1609344/1000"
    " yard yards yd yds:9144/10000 foot feet ft:3048/10000 inch inches:254/10000",
    "mass": "g gram grams gramme grammes gr:1 kg kgs kilo kilos kilogram kilograms:1000 mg milligram milligrams:1/1000"
    " lb lbs:45359237/100000 ounce ounces oz:45359237/1600000 tonne tonnes ton tons:1000000",
    "volume": "ml milliliter milliliters millilitre millilitres:1 l liter liters litre litres:1000 cl:10 dl:100 cc:1"
    " gallon gallons gal:3785411784/1000000 pint pints:473176473/1000000 quart quarts:946352946/1000000",
    "cup": "cup cups:1",
    "spoon": "tsp teaspoon teaspoons:1 tbsp tablespoon tablespoons:3",
    "temperature": "°c celsius:1",
    "fahrenheit": "°f fahrenheit:1",
    "angle": "degree degrees °:1",
    "energy": "kcal calorie calories cal kcals:1 kj:239006/1000000",
    "power": "w watt watts:1 kw:1000",
    "data": "mb megabyte megabytes:1 gb gigabyte gigabytes:1000 tb terabyte terabytes:1000000 kb kilobyte "
    "kilobytes:1/1000",
    "electric": "kwh:1",
    "speed": "km/h kmh kph:1 mph:1609344/1000000",
    "area": "m² m2 sqm:1 sqft ft²:9290304/100000000",
    "percent": "% percent per_cent pct percentage_points percentage_point prozent pourcent:1/100",
}


@cache
def unit_names() -> dict[str, tuple[Unit, ...]]:
    """Return every known name, in lower case, with what it can mean; a blank in a name is written as it is."""
    names: dict[str, tuple[Unit, ...]] = {}
    for line in _CURRENCIES.split("\n"):
        if line:
            code, _, words = line.partition(":")
            for word in words.split():
                names[word.replace("_", " ")] = (_money(code),)
    for word, codes in _SHARED.items():
        names[word] = tuple(_money(code) for code in codes)
    for dimension, text in _UNITS.items():
        waiting: list[str] = []
        for word in text.split():
            name, _, factor = word.partition(":")
            waiting.append(name)
            if factor:
                names |= {w.replace("_", " "): (Unit(dimension, Fraction(factor)),) for w in waiting}
                waiting = []
    names["cent"] = names["cents"] = names["¢"] = tuple(_money(code, _CENT) for code in _CENTS)
    names["pence"] = names["penny"] = names["p"] = (_money("GBP", _CENT),)
    names["pound"] = names["pounds"] = (_money("GBP"), *names["lb"])
    return names
