"""What is asked, compiled to integers."""
