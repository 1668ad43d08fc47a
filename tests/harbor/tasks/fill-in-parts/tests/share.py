"""Prints the share of the tests in a report of pytest that have passed."""

import sys
import xml.etree.ElementTree

cases = list(xml.etree.ElementTree.parse(sys.argv[1]).iter("testcase"))
print(sum(len(case) == 0 for case in cases) / len(cases))
