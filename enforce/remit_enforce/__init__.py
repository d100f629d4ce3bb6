"""What an enforcement point imports: it speaks the wire and checks numbers, and needs neither graph nor policy engine."""
