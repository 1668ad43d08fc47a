import sys
import unittest

sys.path.insert(0, "/app")

from stack import Stack


class Checks(unittest.TestCase):
    def test_order(self):
        stack = Stack()
        for n in range(3):
            stack.push(n)
        self.assertEqual(stack.pop(), 2)
        stack.push(7)
        self.assertEqual([stack.pop() for _ in range(3)], [7, 1, 0])
        self.assertEqual(len(stack), 0)
