"""How the demo voice was made: texts, rendering, features, quantiser, decoder, export, evaluation."""
