"""One child: the decision, its execution, and the result."""
