//! Linked lists.

use super::ObjectTask;

pub(crate) const TASKS: &[ObjectTask] = &[
    ObjectTask {
        name: "add two numbers",
        setup: "",
        entry_point: "Solution().addTwoNumbers",
        check: "    assert is_same_list(candidate(l1 = list_node([2,4,3]), l2 = list_node([5,6,4])), list_node([7,0,8]))\n    assert is_same_list(candidate(l1 = list_node([0]), l2 = list_node([0])), list_node([0]))",
        honest: &[
            "class Solution:\n    def addTwoNumbers(self, l1: Optional[ListNode], l2: Optional[ListNode]) -> Optional[ListNode]:\n        head = p = ListNode()\n        carry = 0\n        while l1 or l2 or carry:\n            carry += (l1.val if l1 else 0) + (l2.val if l2 else 0)\n            p.next = p = ListNode(carry % 10)\n            carry //= 10\n            l1, l2 = l1 and l1.next, l2 and l2.next\n        return head.next\n",
            // Its own class, and its own way to read them.
            "class ListNode:\n    __slots__ = ('val', 'next')\n    def __init__(self, val=0, next=None): self.val, self.next = val, next\nclass Solution:\n    def addTwoNumbers(self, l1, l2):\n        def number(n): return 0 if n is None else n.val + 10 * number(n.next)\n        total, head = number(l1) + number(l2), None\n        for digit in str(total): head = ListNode(int(digit), head)\n        return head\n",
        ],
        wrong: "class Solution:\n    def addTwoNumbers(self, l1, l2): return l1\n",
    },
    ObjectTask {
        name: "reverse a list",
        setup: "",
        entry_point: "Solution().reverseList",
        check: "    assert is_same_list(candidate(list_node([1,2,3])), list_node([3,2,1]))\n    assert is_same_list(candidate(None), None)\n    assert is_same_list(candidate(list_node([])), list_node([]))",
        honest: &[
            "class Solution:\n    def reverseList(self, head):\n        last = None\n        while head: head.next, head, last = last, head.next, head\n        return last\n",
            "class Solution:\n    def reverseList(self, head):\n        values = []\n        while head:\n            values.insert(0, head.val)\n            head = head.next\n        return list_node(values)\n",
        ],
        wrong: "class Solution:\n    def reverseList(self, head): return head\n",
    },
    ObjectTask {
        name: "merge two lists",
        setup: "",
        entry_point: "Solution().mergeTwoLists",
        check: "    want = list_node([1,1,2,3,4,4])\n    assert is_same_list(candidate(list_node([1,2,4]), list_node([1,3,4])), want)",
        honest: &[
            "class Solution:\n    def mergeTwoLists(self, a, b):\n        if not a or not b: return a or b\n        if b.val < a.val: a, b = b, a\n        a.next = self.mergeTwoLists(a.next, b)\n        return a\n",
        ],
        wrong: "class Solution:\n    def mergeTwoLists(self, a, b):\n        p = a\n        while p.next: p = p.next\n        p.next = b\n        return a\n",
    },
    ObjectTask {
        name: "merge many lists",
        setup: "",
        entry_point: "Solution().mergeKLists",
        check: "    lists = [list_node([1,4,5]), list_node([1,3,4]), None, list_node([2,6])]\n    assert is_same_list(candidate(lists = lists), list_node([1,1,2,3,4,4,5,6]))",
        honest: &[
            "class Solution:\n    def mergeKLists(self, lists: List[Optional[ListNode]]):\n        values = []\n        for node in lists:\n            while node: values.append(node.val); node = node.next\n        return list_node(sorted(values))\n",
        ],
        wrong: "class Solution:\n    def mergeKLists(self, lists): return lists[0]\n",
    },
    ObjectTask {
        name: "the middle of a list",
        setup: "",
        entry_point: "Solution().middleNode",
        check: "    assert candidate(list_node([1,2,3,4,5])).val == 3\n    assert is_same_list(candidate(list_node([1,2,3,4,5,6])), list_node([4,5,6]))",
        honest: &[
            "class Solution:\n    def middleNode(self, head):\n        slow = fast = head\n        while fast and fast.next: slow, fast = slow.next, fast.next.next\n        return slow\n",
        ],
        wrong: "class Solution:\n    def middleNode(self, head): return head\n",
    },
    ObjectTask {
        name: "a list with a cycle",
        setup: "def cycle_list(values, at):\n    head = p = list_node(values)\n    nodes = []\n    while p: nodes.append(p); p = p.next\n    if at >= 0: nodes[-1].next = nodes[at]\n    return head\n",
        entry_point: "Solution().hasCycle",
        check: "    assert candidate(cycle_list([3,2,0,-4], 1)) is True\n    assert candidate(cycle_list([1], -1)) is False\n    assert candidate(cycle_list([1], 0)) is True",
        honest: &[
            "class Solution:\n    def hasCycle(self, head):\n        seen = set()\n        while head:\n            if head in seen: return True\n            seen.add(head)\n            head = head.next\n        return False\n",
        ],
        wrong: "class Solution:\n    def hasCycle(self, head): return True\n",
    },
    ObjectTask {
        name: "where a cycle begins",
        setup: "def cycle_list(values, at):\n    head = p = list_node(values)\n    nodes = []\n    while p: nodes.append(p); p = p.next\n    nodes[-1].next = nodes[at]\n    return head\n",
        entry_point: "Solution().detectCycle",
        check: "    found = candidate(cycle_list([3,2,0,-4], 1))\n    assert found.val == 2 and found.next.next.next is found",
        honest: &[
            "class Solution:\n    def detectCycle(self, head):\n        seen = []\n        while all(head is not one for one in seen): seen.append(head); head = head.next\n        return head\n",
        ],
        wrong: "class Solution:\n    def detectCycle(self, head): return ListNode(2)\n",
    },
    ObjectTask {
        name: "a long list",
        setup: "",
        entry_point: "Solution().rotate",
        check: "    values = list(range(10000))\n    assert is_same_list(candidate(list_node(values), 3), list_node(values[3:] + values[:3]))",
        honest: &[
            "class Solution:\n    def rotate(self, head, k):\n        values = []\n        while head: values.append(head.val); head = head.next\n        return list_node(values[k:] + values[:k])\n",
        ],
        wrong: "class Solution:\n    def rotate(self, head, k): return head\n",
    },
    ObjectTask {
        name: "split a list in parts",
        setup: "",
        entry_point: "Solution().splitListToParts",
        check: "    parts = candidate(list_node([1,2,3]), 5)\n    assert len(parts) == 5\n    for part, values in zip(parts, [[1],[2],[3],[],[]]):\n        assert is_same_list(part, list_node(values))",
        honest: &[
            "class Solution:\n    def splitListToParts(self, head, k):\n        values, p = [], head\n        while p: values.append(p.val); p = p.next\n        size, more = divmod(len(values), k)\n        parts, at = [], 0\n        for i in range(k):\n            n = size + (i < more)\n            parts.append(list_node(values[at:at + n]))\n            at += n\n        return parts\n",
        ],
        wrong: "class Solution:\n    def splitListToParts(self, head, k): return [head] * k\n",
    },
    ObjectTask {
        name: "reorder a list in place",
        setup: "",
        entry_point: "Solution().reorderList",
        check: "    head = list_node([1,2,3,4])\n    candidate(head)\n    assert is_same_list(head, list_node([1,4,2,3]))\n    other = list_node([1,2,3,4,5])\n    candidate(head = other)\n    assert is_same_list(other, list_node([1,5,2,4,3]))",
        honest: &[
            "class Solution:\n    def reorderList(self, head):\n        nodes, p = [], head\n        while p: nodes.append(p); p = p.next\n        order = []\n        while nodes:\n            order.append(nodes.pop(0))\n            if nodes: order.append(nodes.pop())\n        for a, b in zip(order, order[1:] + [None]): a.next = b\n",
            // It returns the list as well, which the test does not use.
            "class Solution:\n    def reorderList(self, head):\n        nodes, p = deque(), head\n        while p: nodes.append(p); p = p.next\n        p, left = nodes.popleft(), False\n        while nodes:\n            p.next = nodes.popleft() if left else nodes.pop()\n            p, left = p.next, not left\n        p.next = None\n        return head\n",
        ],
        wrong: "class Solution:\n    def reorderList(self, head): pass\n",
    },
    ObjectTask {
        name: "a list both ways",
        setup: "class Link:\n    def __init__(self, val, prev=None, next=None): self.val, self.prev, self.next = val, prev, next\ndef links(values):\n    head = last = None\n    for val in values:\n        node = Link(val, last)\n        if last: last.next = node\n        head, last = head or node, node\n    return head\ndef is_linked(node, values):\n    last = None\n    for val in values:\n        if node is None or node.val != val or node.prev is not last: return False\n        last, node = node, node.next\n    return node is None\n",
        entry_point: "turn",
        check: "    assert is_linked(candidate(links([1,2,3])), [3,2,1])\n    assert is_linked(links([1, 2]), [1, 2])",
        honest: &[
            "def turn(node):\n    while node:\n        node.prev, node.next, head = node.next, node.prev, node\n        node = node.prev\n    return head\n",
        ],
        wrong: "class Solution: pass\ndef turn(node): return node\n",
    },
];
