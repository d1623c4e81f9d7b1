"""Objects of the API: kinds, projections, places in them; pure."""
