package remit.asking

# METADATA
# entrypoint: true
denials := [denial.rule | some denial in data.custom.deny]
