//! Graphs and trees with any number of branches: what is shared stays shared.

use super::ObjectTask;

const NODE: &str = "class Node:\n    def __init__(self, val=0, neighbors=None):\n        self.val = val\n        self.neighbors = neighbors if neighbors is not None else []\ndef graph(edges):\n    nodes = {n: Node(n) for n in range(1, len(edges) + 1)}\n    for n, others in enumerate(edges, 1): nodes[n].neighbors = [nodes[o] for o in others]\n    return nodes.get(1)\ndef same_graph(node, edges):\n    seen, queue = {}, [node]\n    while queue:\n        one = queue.pop()\n        if seen.setdefault(one.val, one) is not one: return False\n        if [o.val for o in one.neighbors] != edges[one.val - 1]: return False\n        for o in one.neighbors:\n            if o.val not in seen: queue.append(o)\n            elif seen[o.val] is not o: return False\n    return len(seen) == len(edges)\n";

const CLONE: &str = "class Solution:\n    def cloneGraph(self, node: Optional['Node']) -> Optional['Node']:\n        made = {}\n        def clone(one):\n            if one not in made:\n                made[one] = Node(one.val)\n                made[one].neighbors = [clone(other) for other in one.neighbors]\n            return made[one]\n        return clone(node) if node else None\n";

pub(crate) const TASKS: &[ObjectTask] = &[
    ObjectTask {
        name: "clone a graph",
        setup: NODE,
        entry_point: "Solution().cloneGraph",
        check: "    edges = [[2,4],[1,3],[2,4],[1,3]]\n    assert same_graph(candidate(graph(edges)), edges)\n    assert candidate(None) is None",
        honest: &[CLONE],
        wrong: "class Solution:\n    def cloneGraph(self, node): return node and Node(node.val, node.neighbors)\n",
    },
    ObjectTask {
        name: "turn the edges of a graph",
        setup: NODE,
        entry_point: "turn",
        check: "    assert same_graph(candidate(graph([[2],[3],[1]])), [[3],[1],[2]])",
        honest: &[
            "def turn(node):\n    nodes, queue = [], [node]\n    while queue:\n        one = queue.pop()\n        if one not in nodes: nodes.append(one); queue.extend(one.neighbors)\n    edges = [(a, b) for a in nodes for b in a.neighbors]\n    for one in nodes: one.neighbors = []\n    for a, b in edges: b.neighbors.append(a)\n    return node\n",
        ],
        wrong: "class Solution: pass\ndef turn(node): return node\n",
    },
    ObjectTask {
        name: "a tree with any number of branches",
        setup: "class Node:\n    def __init__(self, val=None, children=None): self.val, self.children = val, children or []\ndef branches(spec): return Node(spec[0], [branches(one) for one in spec[1:]])\n",
        entry_point: "Solution().preorder",
        check: "    assert candidate(root = branches([1,[3,[5],[6]],[2],[4]])) == [1,3,5,6,2,4]",
        honest: &[
            "class Solution:\n    def preorder(self, root): return [root.val] + [v for c in root.children for v in self.preorder(c)]\n",
        ],
        wrong: "class Solution:\n    def preorder(self, root): return [1, 3, 5, 6]\n",
    },
    ObjectTask {
        name: "copy a list with random pointers",
        setup: "class Node:\n    def __init__(self, x, next=None, random=None): self.val, self.next, self.random = x, next, random\ndef randoms(pairs):\n    nodes = [Node(val) for val, _ in pairs]\n    for a, b in zip(nodes, nodes[1:]): a.next = b\n    for node, (_, to) in zip(nodes, pairs): node.random = None if to is None else nodes[to]\n    return nodes[0] if nodes else None\ndef pairs_of(node):\n    nodes = []\n    while node: nodes.append(node); node = node.next\n    at = {id(node): i for i, node in enumerate(nodes)}\n    return [[n.val, None if n.random is None else at[id(n.random)]] for n in nodes]\n",
        entry_point: "Solution().copyRandomList",
        check: "    pairs = [[7,None],[13,0],[11,4],[10,2],[1,0]]\n    assert pairs_of(candidate(randoms(pairs))) == pairs\n    assert candidate(None) is None",
        honest: &[
            "class Solution:\n    def copyRandomList(self, head):\n        made, p = {None: None}, head\n        while p: made[p] = Node(p.val); p = p.next\n        for old, new in made.items():\n            if old: new.next, new.random = made[old.next], made[old.random]\n        return made[head]\n",
        ],
        wrong: "class Solution:\n    def copyRandomList(self, head):\n        if not head: return None\n        return Node(head.val, self.copyRandomList(head.next), None)\n",
    },
    ObjectTask {
        name: "a table of nodes",
        setup: NODE,
        entry_point: "Solution().byValue",
        check: "    found = candidate(graph([[2,3],[1],[1]]))\n    assert sorted(found) == [1, 2, 3]\n    assert found[1].neighbors[0] is found[2] and found[2].neighbors[0] is found[1]",
        honest: &[
            "class Solution:\n    def byValue(self, node):\n        found, queue = {}, [node]\n        while queue:\n            one = queue.pop()\n            if one.val not in found: found[one.val] = one; queue += one.neighbors\n        return found\n",
        ],
        wrong: "class Solution:\n    def byValue(self, node): return {n: Node(n, [Node(0)]) for n in (1, 2, 3)}\n",
    },
];
