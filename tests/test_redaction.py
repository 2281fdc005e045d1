"""Secrets do not pass the redactor, and what is none does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acr_cli.redaction import redact, redacted

# A secret in each of its shapes: (kind, text around it, the part that must not stay).
PLANTED = [
    ("amazon key id", "aws says AKIA2E0A8F3B244C9986 is wrong", "AKIA2E0A8F3B244C9986"),
    (
        "amazon secret",
        "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzz9mQ1k3aB",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzz9mQ1k3aB",
    ),
    ("bare secret", "with fR7q9LmZ2xKp4TnV8cWd3JhB6yGs1AeQ it works", "fR7q9LmZ2xKp4TnV8cWd3JhB6yGs1AeQ"),
    (
        "github",
        "push fails with ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    ),
    ("github fine", "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz", "11ABCDEFG0abcdefghijkl"),
    ("gitlab", "glpat-8GMtG8Mf4EnMJzmAWDUx", "8GMtG8Mf4EnMJzmAWDUx"),
    ("slack", "token xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzzqgy", "pdFZKVeTuE8sk7oOcHrzzqgy"),
    (
        "slack hook",
        "https://hooks.slack.com/services/T00000000/B00000000/XXXXabcdXXXX1234",
        "XXXXabcdXXXX1234",
    ),
    ("stripe", "stripe.api_key = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc'", "4eC39HqLyjWDarjtT1zdp7dc"),
    ("openai", "OPENAI uses sk-proj-abc123DEF456ghi789JKL012mno345", "abc123DEF456ghi789JKL012mno345"),
    ("anthropic", "sk-ant-api03-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA", "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA"),
    ("google", "maps: AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY", "SyD-9tSrke72PouQMnMX"),
    ("npm", "//registry/:_authToken=npm_7hG2kLmN8pQrStUvWxYz0123456789AbCdEf", "7hG2kLmN8pQrStUvWxYz"),
    ("pypi", "twine -p pypi-AgEIcHlwaS5vcmcCJDU3NTk4NzY1LTQ3", "AgEIcHlwaS5vcmcCJDU3NTk4"),
    ("huggingface", "HF: hf_QkLmNoPqRsTuVwXyZaBcDeFgHiJkLmNoPq", "QkLmNoPqRsTuVwXyZaBc"),
    ("sendgrid", "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", "TwL2iGABf9DHoTf"),
    ("twilio", "SK2f3a9c1b4d5e6f708192a3b4c5d6e7f8", "2f3a9c1b4d5e6f708192a3b4c5d6e7f8"),
    (
        "jwt",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        "dozjgNryP4J3jVmNHl0w5N",
    ),
    (
        "private key",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq98\nq3Jk\n-----END RSA PRIVATE KEY-----",
        "MIIEpAIBAAKCAQEA7bq98",
    ),
    (
        "cut private key",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\nAAAA",
        "b3BlbnNzaC1rZXktdjEA",
    ),
    ("url", "postgres://admin:s3cr3t-pw@db.example.org/shop", "s3cr3t-pw"),
    ("password", "password: hunter2, says the log", "hunter2"),
    ("quoted password", 'connect(user="ada", password="correct horse battery")', "correct horse battery"),
    ("password in prose", "the password is Tr0ub4dor and should work", "Tr0ub4dor"),
    ("json", '{"client_secret": "bG9uZ2VyLXRoYW4"}', "bG9uZ2VyLXRoYW4"),
    ("yaml", "db:\n  passwd: pa55word\n", "pa55word"),
    ("flag", "run --token abcd1234efgh --verbose", "abcd1234efgh"),
    ("bearer", "Authorization: Bearer a1b2c3d4e5f6g7h8", "a1b2c3d4e5f6g7h8"),
    ("url with a sign", "https://ada:p@lovelace-1815@example.org/x.git", "lovelace-1815"),
    ("url of a token", "git+https://lovelaceatoken@git.example/x.git", "lovelaceatoken"),
    ("basic", "curl -u ada:lovelace1815 https://example.org", "lovelace1815"),
    ("cookie", "Cookie: session=9f8e7d6c5b4a; theme=dark", "9f8e7d6c5b4a"),
    ("azure", "AccountKey=Zm9vYmFyL2Jhei9xdXV4MTIzNDU2Nzg5MA==;Endpoint=x", "Zm9vYmFyL2Jhei9xdXV4"),
    ("signed url", "https://x.blob.example/f?se=2027&sig=8dK2jv%2BQx7", "8dK2jv"),
    ("hex", "DEPLOY 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c", "9f86d081884c7d659a2feaa0c55ad015"),
    (
        "discord",
        "bot MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs",
        "ZnCjm1XVW7vRze4b7Cq4se7kKWs",
    ),
    ("telegram", "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"),
    ("e-mail", "Ada <ada.lovelace@analytical.example.org> wrote it", "ada.lovelace"),
    ("home", "File /home/adalovelace/work/shop/cart.py, line 3", "adalovelace"),
    ("mac home", "/Users/adalovelace/work/cart.py", "adalovelace"),
    ("windows home", r"C:\Users\adalovelace\work\cart.py", "adalovelace"),
]
HARMLESS = [
    "The tokenizer drops the last token; parse(token) returns None.",
    "def login(token: str, password: str | None = None) -> bool:",
    "assert token == expected_token",
    "tests/test_basket.py::test_total_is_rounded[1.005] AssertionError assert 1.0 == 1.01",
    "src/shop/models/customer_account_history.py line 1234",
    "tests/integration/TestCustomerAccountHistoryV2.java",
    "password is missing",
    "E   KeyError: 'password'",
    "Use 5 tokens a second; the secret of the game is to be quick",
    "pip install acr-cli==0.1.0 --no-deps",
    "commit 1d5bb08 changed the API key handling",
    "",
]


@pytest.mark.parametrize(
    ("text", "secret"), [each[1:] for each in PLANTED], ids=[each[0] for each in PLANTED]
)
def test_a_secret_does_not_stay(text: str, secret: str) -> None:
    assert secret in text
    assert secret not in redact(text)
    assert secret not in redact(f"x = 1\nThe log says: {text}\nand more")


@pytest.mark.parametrize("text", [each[1] for each in PLANTED] + HARMLESS)
def test_to_redact_twice_changes_nothing_more(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_what_was_taken_out_leaves_its_kind() -> None:
    assert redact("mail ada@example.org, password=abc123 in /home/ada/x") == (
        "mail [e-mail], password=[secret] in ~/x"
    )


def test_every_text_of_a_json_value_is_redacted() -> None:
    value = {"log": ["password=abc123", 3, None], "ada@example.org": {"ok": True}}
    assert redacted(value) == {"log": ["password=[secret]", 3, None], "[e-mail]": {"ok": True}}


@given(st.text())
def test_any_text_can_be_redacted(text: str) -> None:
    redact(text)
