"""Tenure: durable tasks on machines that crash."""
