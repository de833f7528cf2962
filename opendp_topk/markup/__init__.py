"""HTML whose texts are escaped: elements for pages, and the tables that notebooks show.

It may import nothing of the package.
"""
