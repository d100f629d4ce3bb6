"""What an enforcement point imports: it speaks the wire and checks numbers; neither graph nor engine is needed."""
