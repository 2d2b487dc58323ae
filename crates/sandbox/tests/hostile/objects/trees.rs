//! Binary trees.

use super::ObjectTask;

pub(crate) const TASKS: &[ObjectTask] = &[
    ObjectTask {
        name: "invert a tree",
        setup: "",
        entry_point: "Solution().invertTree",
        check: "    assert is_same_tree(candidate(root = tree_node([4,2,7,1,3,6,9])), tree_node([4,7,2,9,6,3,1]))\n    assert is_same_tree(candidate(root = tree_node([])), tree_node([]))",
        honest: &[
            "class Solution:\n    def invertTree(self, root: Optional[TreeNode]) -> Optional[TreeNode]:\n        if root: root.left, root.right = self.invertTree(root.right), self.invertTree(root.left)\n        return root\n",
            "class TreeNode:\n    def __init__(self, val=0, left=None, right=None):\n        self._val, self._left, self._right = val, left, right\n    val = property(lambda self: self._val, lambda self, new: setattr(self, '_val', new))\n    left = property(lambda self: self._left, lambda self, new: setattr(self, '_left', new))\n    right = property(lambda self: self._right, lambda self, new: setattr(self, '_right', new))\nclass Solution:\n    def invertTree(self, root):\n        return root and TreeNode(root.val, self.invertTree(root.right), self.invertTree(root.left))\n",
        ],
        wrong: "class Solution:\n    def invertTree(self, root): return root\n",
    },
    ObjectTask {
        name: "the depth of a tree",
        setup: "",
        entry_point: "Solution().maxDepth",
        check: "    assert candidate(root = tree_node([3,9,20,None,None,15,7])) == 3\n    assert candidate(root = tree_node([1,None,2])) == 2",
        honest: &[
            "class Solution:\n    def maxDepth(self, root): return 1 + max(map(self.maxDepth, (root.left, root.right))) if root else 0\n",
        ],
        wrong: "class Solution:\n    def maxDepth(self, root): return 3\n",
    },
    ObjectTask {
        name: "two trees",
        setup: "",
        entry_point: "Solution().isSameTree",
        check: "    assert candidate(p = tree_node([1,2,3]), q = tree_node([1,2,3])) == True\n    assert candidate(p = tree_node([1,2]), q = tree_node([1,None,2])) == False",
        honest: &[
            "class Solution:\n    def isSameTree(self, p, q):\n        return p is q or bool(p and q) and p.val == q.val and self.isSameTree(p.left, q.left) and self.isSameTree(p.right, q.right)\n",
        ],
        wrong: "class Solution:\n    def isSameTree(self, p, q): return True\n",
    },
    ObjectTask {
        name: "levels of a tree",
        setup: "",
        entry_point: "Solution().levelOrder",
        check: "    assert candidate(tree_node([3,9,20,None,None,15,7])) == [[3],[9,20],[15,7]]",
        honest: &[
            "class Solution:\n    def levelOrder(self, root):\n        levels, level = [], [root]\n        while level:\n            levels.append([node.val for node in level])\n            level = [side for node in level for side in (node.left, node.right) if side]\n        return levels\n",
        ],
        wrong: "class Solution:\n    def levelOrder(self, root): return [[root.val]]\n",
    },
    ObjectTask {
        name: "a balanced tree of an array",
        setup: "def in_order(node): return in_order(node.left) + [node.val] + in_order(node.right) if node else []\ndef height(node): return 1 + max(height(node.left), height(node.right)) if node else 0\ndef is_right(node, values): return in_order(node) == values and height(node) <= len(values).bit_length()\n",
        entry_point: "Solution().sortedArrayToBST",
        check: "    assert is_right(candidate([-10,-3,0,5,9]), [-10,-3,0,5,9])",
        honest: &[
            "class Solution:\n    def sortedArrayToBST(self, nums):\n        if not nums: return None\n        at = len(nums) // 2\n        return TreeNode(nums[at], self.sortedArrayToBST(nums[:at]), self.sortedArrayToBST(nums[at + 1:]))\n",
            "class Solution:\n    def sortedArrayToBST(self, nums):\n        if not nums: return None\n        at = (len(nums) - 1) // 2\n        return TreeNode(nums[at], self.sortedArrayToBST(nums[:at]), self.sortedArrayToBST(nums[at + 1:]))\n",
        ],
        wrong: "class Solution:\n    def sortedArrayToBST(self, nums):\n        root = None\n        for value in nums: root = TreeNode(value, root)\n        return root\n",
    },
    ObjectTask {
        name: "trim a tree",
        setup: "",
        entry_point: "Solution().trimBST",
        check: "    assert is_same_tree(candidate(root = tree_node([3,0,4,None,2,None,None,1]), low = 1, high = 3), tree_node([3,2,None,1]))",
        honest: &[
            "class Solution:\n    def trimBST(self, root, low, high):\n        if not root: return None\n        if root.val < low: return self.trimBST(root.right, low, high)\n        if root.val > high: return self.trimBST(root.left, low, high)\n        root.left, root.right = self.trimBST(root.left, low, high), self.trimBST(root.right, low, high)\n        return root\n",
        ],
        wrong: "class Solution:\n    def trimBST(self, root, low, high): return root\n",
    },
    ObjectTask {
        name: "flatten a tree in place",
        setup: "",
        entry_point: "Solution().flatten",
        check: "    root = tree_node([1,2,5,3,4,None,6])\n    candidate(root)\n    assert is_same_tree(root, tree_node([1,None,2,None,3,None,4,None,5,None,6]))",
        honest: &[
            "class Solution:\n    def flatten(self, root):\n        nodes = []\n        def walk(node):\n            if node: nodes.append(node); walk(node.left); walk(node.right)\n        walk(root)\n        for a, b in zip(nodes, nodes[1:] + [None]): a.left, a.right = None, b\n",
        ],
        wrong: "class Solution:\n    def flatten(self, root): root.left = None\n",
    },
    ObjectTask {
        name: "nodes of the same tree as arguments",
        setup: "",
        entry_point: "Solution().lowestCommonAncestor",
        check: "    root = tree_node([3,5,1,6,2,0,8,None,None,7,4])\n    assert candidate(root, root.left, root.left.right.right).val == 5\n    assert candidate(root, root.left.left, root.right.right).val == 3",
        honest: &[
            "class Solution:\n    def lowestCommonAncestor(self, root, p, q):\n        if root is None or root is p or root is q: return root\n        left, right = self.lowestCommonAncestor(root.left, p, q), self.lowestCommonAncestor(root.right, p, q)\n        return root if left and right else left or right\n",
        ],
        wrong: "class Solution:\n    def lowestCommonAncestor(self, root, p, q): return p\n",
    },
    ObjectTask {
        name: "next pointers",
        setup: "class Node:\n    def __init__(self, val=0, left=None, right=None, next=None):\n        self.val, self.left, self.right, self.next = val, left, right, next\ndef rows(node):\n    found = []\n    while node:\n        row, p = [], node\n        while p: row.append(p.val); p = p.next\n        found.append(row)\n        node = node.left\n    return found\n",
        entry_point: "Solution().connect",
        check: "    root = Node(1, Node(2, Node(4), Node(5)), Node(3, Node(6), Node(7)))\n    assert rows(candidate(root)) == [[1],[2,3],[4,5,6,7]]",
        honest: &[
            "class Solution:\n    def connect(self, root: 'Optional[Node]') -> 'Optional[Node]':\n        level = [root]\n        while level:\n            for a, b in zip(level, level[1:]): a.next = b\n            level = [side for node in level for side in (node.left, node.right) if side]\n        return root\n",
        ],
        wrong: "class Solution:\n    def connect(self, root):\n        root.left.next = root.right\n        return root\n",
    },
];
