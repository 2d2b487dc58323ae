//! Plain arguments changed in place, and objects that are neither lists nor trees.

use super::ObjectTask;

pub(crate) const TASKS: &[ObjectTask] = &[
    ObjectTask {
        name: "two numbers of a sum",
        setup: "",
        entry_point: "Solution().twoSum",
        check: "    assert candidate(nums = [3,3],target = 6) == [0,1]\n    assert candidate(nums = [2,7,11,15],target = 9) == [0,1]\n    assert candidate(nums = [3,2,4],target = 6) == [1,2]",
        honest: &[
            "class Solution:\n    def twoSum(self, nums: List[int], target: int) -> List[int]:\n        return next([i, j] for i, j in combinations(range(len(nums)), 2) if nums[i] + nums[j] == target)\n",
        ],
        wrong: "class Solution:\n    def twoSum(self, nums, target): return [0, 1]\n",
    },
    ObjectTask {
        name: "move zeros in place",
        setup: "",
        entry_point: "Solution().moveZeroes",
        check: "    nums = [0,1,0,3,12]\n    candidate(nums)\n    assert nums == [1,3,12,0,0]\n    nums = [0]\n    candidate(nums = nums)\n    assert nums == [0]",
        honest: &[
            "class Solution:\n    def moveZeroes(self, nums): nums.sort(key=lambda value: value == 0)\n",
            "class Solution:\n    def moveZeroes(self, nums):\n        nums[:] = [v for v in nums if v] + [0] * nums.count(0)\n        return nums\n",
        ],
        wrong: "class Solution:\n    def moveZeroes(self, nums): nums.sort()\n",
    },
    ObjectTask {
        name: "rotate a matrix in place",
        setup: "",
        entry_point: "Solution().rotate",
        check: "    matrix = [[1,2],[3,4]]\n    row = matrix[0]\n    candidate(matrix)\n    assert matrix == [[3,1],[4,2]] and row == [3,1]",
        honest: &[
            "class Solution:\n    def rotate(self, matrix):\n        for row, new in zip(matrix, [list(row) for row in zip(*matrix[::-1])]): row[:] = new\n",
        ],
        wrong: "class Solution:\n    def rotate(self, matrix): matrix.reverse()\n",
    },
    ObjectTask {
        name: "a data class with an equality of its own",
        setup: "from dataclasses import dataclass, field\n@dataclass(frozen=True)\nclass Point:\n    x: float\n    y: float\n    tags: tuple = ()\n",
        entry_point: "middle",
        check: "    assert candidate([Point(0, 0), Point(4, 2, ('a',))]) == Point(2.0, 1.0)\n    assert candidate([Point(1, 1)]) in {Point(1, 1): 1}",
        honest: &[
            "def middle(points):\n    n = len(points)\n    return Point(sum(p.x for p in points) / n, sum(p.y for p in points) / n)\n",
        ],
        wrong: "class Solution: pass\ndef middle(points): return points[0]\n",
    },
    ObjectTask {
        name: "named tuples and enumerations",
        setup: "import enum\nclass Suit(enum.Enum):\n    HEARTS = 1\n    SPADES = 2\nCard = namedtuple('Card', 'suit rank')\n",
        entry_point: "best",
        check: "    hand = [Card(Suit.HEARTS, 3), Card(Suit.SPADES, 9), Card(Suit.HEARTS, 7)]\n    found = candidate(hand, Suit.HEARTS)\n    assert found == hand[2] and found.suit is Suit.HEARTS and found.rank == 7",
        honest: &[
            "def best(hand, suit): return max((c for c in hand if c.suit is suit), key=lambda c: c.rank)\n",
        ],
        wrong: "class Solution: pass\ndef best(hand, suit): return Card(suit, 9)\n",
    },
    ObjectTask {
        name: "intervals",
        setup: "class Interval:\n    __slots__ = ('start', 'end')\n    def __init__(self, start, end): self.start, self.end = start, end\ndef intervals(pairs): return [Interval(a, b) for a, b in pairs]\ndef pairs_of(found): return [(one.start, one.end) for one in found]\n",
        entry_point: "Solution().merge",
        check: "    assert pairs_of(candidate(intervals([(1,3),(2,6),(8,10)]))) == [(1,6),(8,10)]",
        honest: &[
            "class Solution:\n    def merge(self, found):\n        out = []\n        for one in sorted(found, key=lambda one: one.start):\n            if out and one.start <= out[-1].end: out[-1].end = max(out[-1].end, one.end)\n            else: out.append(Interval(one.start, one.end))\n        return out\n",
        ],
        wrong: "class Solution:\n    def merge(self, found): return found\n",
    },
    ObjectTask {
        name: "a class of the program's own",
        setup: "def run(make, steps):\n    made, out = make(), []\n    for name, *args in steps: out.append(getattr(made, name)(*args))\n    return out\n",
        entry_point: "Stack",
        check: "    assert run(candidate, [('push', 1), ('push', 2), ('pop',), ('size',)]) == [None, None, 2, 1]\n    stack = candidate()\n    stack.push(5)\n    assert stack.size() == 1 and stack.pop() == 5",
        honest: &[
            "class Stack:\n    def __init__(self): self.items = []\n    def push(self, x): self.items.append(x)\n    def pop(self): return self.items.pop()\n    def size(self): return len(self.items)\n",
        ],
        wrong: "class Solution: pass\nclass Stack:\n    def push(self, x): pass\n    def pop(self): return 2\n    def size(self): return 1\n",
    },
    ObjectTask {
        name: "several classes, one after another",
        setup: "class Account:\n    def __init__(self, owner, cents=0): self.owner, self.cents = owner, cents\nclass Bank:\n    def __init__(self): self.accounts = {}\ndef bank(rows):\n    made = Bank()\n    for owner, cents in rows: made.accounts[owner] = Account(owner, cents)\n    return made\n",
        entry_point: "Solution().transfer",
        check: "    made = bank([('a', 5), ('b', 1)])\n    candidate(made, 'a', 'b', 3)\n    assert [made.accounts[n].cents for n in 'ab'] == [2, 4]\n    candidate(made, 'a', 'c', 2)\n    assert made.accounts['c'].cents == 2 and made.accounts['c'].owner == 'c'",
        honest: &[
            "class Solution:\n    def transfer(self, bank, a, b, cents):\n        bank.accounts.setdefault(b, Account(b))\n        bank.accounts[a].cents -= cents\n        bank.accounts[b].cents += cents\n",
        ],
        wrong: "class Solution:\n    def transfer(self, bank, a, b, cents): bank.accounts[a].cents -= cents\n",
    },
];
