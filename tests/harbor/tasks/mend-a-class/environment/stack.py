class Stack:
    def __init__(self):
        self._items, self._top = [], 0

    def push(self, item):
        self._items.append(item)
        self._top = len(self._items)

    def pop(self):
        self._top -= 1
        return self._items[self._top]

    def __len__(self):
        return self._top
