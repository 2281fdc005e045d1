import unittest

from http_headers import Headers, parse_headers

TEXT = "Host: example.org\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\n\r\nbody: no"


class HeadersTest(unittest.TestCase):
    def test_case_does_not_matter(self):
        self.assertEqual(Headers({"Content-Type": "text/html"})["content-type"], "text/html")

    def test_missing(self):
        with self.assertRaises(KeyError):
            Headers()["Host"]

    def test_set_replaces(self):
        headers = Headers({"Accept": "a"})
        headers["ACCEPT"] = "b"
        self.assertEqual(list(headers.items()), [("ACCEPT", "b")])

    def test_delete(self):
        headers = Headers({"Accept": "a"})
        del headers["accept"]
        self.assertEqual(len(headers), 0)


class ParseTest(unittest.TestCase):
    def test_body_is_not_read(self):
        self.assertNotIn("body", parse_headers(TEXT))

    def test_values_are_joined(self):
        self.assertEqual(parse_headers(TEXT)["set-cookie"], "a=1, b=2")

    def test_all_values(self):
        self.assertEqual(parse_headers(TEXT).get_all("Set-Cookie"), ["a=1", "b=2"])

    def test_no_values(self):
        self.assertEqual(parse_headers(TEXT).get_all("accept"), [])

    def test_malformed(self):
        with self.assertRaises(ValueError):
            parse_headers("no header")

    def test_text(self):
        self.assertEqual(Headers({"A": "1", "B": " 2 "}).to_text(), "A: 1\r\nB: 2\r\n")
