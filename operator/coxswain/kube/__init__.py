"""The only HTTP that the operator sends itself: requests, Server-Side Apply, comparison, Events, errors."""
