"""Orders reserve stock when they are placed and take it when they ship."""

from dataclasses import dataclass

from stock import Stock


class OutOfStock(Exception):
    """Some article of an order is not available in the wanted number."""


@dataclass(frozen=True)
class Order:
    number: int
    lines: dict[str, int]


class OrderBook:
    def __init__(self, stock: Stock) -> None:
        self._stock = stock
        self._open: dict[int, Order] = {}
        self._last = 0

    def place(self, lines: dict[str, int]) -> Order:
        """Reserve every line, or nothing at all."""
        short = []
        for sku, pieces in lines.items():
            item = self._stock.item(sku)
            if item.on_hand < pieces:
                short.append(sku)
        if short:
            raise OutOfStock(", ".join(short))
        for sku, pieces in lines.items():
            self._stock.item(sku).reserved += pieces
        self._last += 1
        order = Order(self._last, dict(lines))
        self._open[order.number] = order
        return order

    def ship(self, number: int) -> None:
        order = self._open.pop(number)
        for sku, pieces in order.lines.items():
            item = self._stock.item(sku)
            item.reserved -= pieces
            item.on_hand -= pieces

    def cancel(self, number: int) -> None:
        order = self._open.pop(number)
        for sku, pieces in order.lines.items():
            self._stock.item(sku).reserved -= pieces
