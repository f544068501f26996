"""Draws reports as text, HTML, SVG and LaTeX; computes nothing."""
