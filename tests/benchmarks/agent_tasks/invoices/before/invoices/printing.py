"""An invoice as plain text."""

from invoices.money import shown

WIDTH = 48


def page(invoice, currency="EUR"):
    """The invoice's page, WIDTH columns wide."""
    rows = [f"Invoice for {invoice.customer}", ""]
    for line in invoice.lines:
        rows.append(_row(f"{line.quantity} x {line.text}", line.amount, currency))
    if invoice.discount:
        rows.append(f"Discount {invoice.discount} %")
    rows.append(_row("Net", invoice.net(), currency))
    rows.append(_row(f"Tax {invoice.tax} %", invoice.tax_amount(), currency))
    rows.append(_row("Total", invoice.total(), currency))
    return "\n".join(rows)


def _row(text, amount, currency):
    price = shown(amount, currency)
    return f"{text:<{WIDTH - len(price)}}{price}"
