"""The loop: watch and sweep fill the store, keys go through the workqueue, reconcile reads the present."""
