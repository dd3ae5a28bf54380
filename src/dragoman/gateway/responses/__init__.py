"""The Responses routes: answers that are kept, gone on from, made in the background, and spoken over a socket."""
