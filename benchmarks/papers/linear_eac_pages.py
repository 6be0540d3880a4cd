INTRODUCTION=NOTES=""
def tables_page(r,p): return ""
bases_page=loss_page=clusters_page=times_page=tables_page
