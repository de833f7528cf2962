"""To and from OpenDP: measurements of either library in the other one (extra ``opendp``)."""
