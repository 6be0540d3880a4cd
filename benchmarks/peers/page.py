def page(records):
    return ""
