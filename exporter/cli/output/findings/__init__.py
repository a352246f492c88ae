"""What is found, in each form that it is printed in."""
