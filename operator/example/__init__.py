"""An operator on the kernel of Coxswain: a ScheduledTask owns a CronJob and a ConfigMap."""
