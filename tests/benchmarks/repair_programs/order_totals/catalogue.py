"""Articles and their prices in cents."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Article:
    sku: str
    price: int
    category: str = "general"


class Catalogue:
    def __init__(self, *articles: Article) -> None:
        self._articles = {article.sku: article for article in articles}

    def __getitem__(self, sku: str) -> Article:
        if sku not in self._articles:
            raise KeyError(f"unknown article {sku}")
        return self._articles[sku]

    def categories(self) -> list[str]:
        return sorted({article.category for article in self._articles.values()})

    def cheapest(self, category: str) -> Article | None:
        fitting = [article for article in self._articles.values() if article.category == category]
        return min(fitting, key=lambda article: (article.price, article.sku), default=None)
