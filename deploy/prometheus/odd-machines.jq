# Metrics of "openstack baremetal inspection data outliers -f json", by group.
def written: gsub("[\u0000-\u001f]"; " ") | tojson;
def series(name; about; value):
  "# HELP \(name) \(about)", "# TYPE \(name) gauge",
  (.groups[] | "\(name){group=\(.group | written)} \(value)");
series("ironic_inspection_odd_machines"; "Machines unlike their peers."; .odd),
series("ironic_inspection_compared_machines"; "Machines that have peers.";
  .machines)
