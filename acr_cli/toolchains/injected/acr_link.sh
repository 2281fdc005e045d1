# The node_modules of $ACR_DEPENDENCIES into the tree: each package as a link, and links of a workspace as they
# are, so that they lead to the packages of this tree. What the tree has itself stays.
acr_link() {
  [ -n "${ACR_DEPENDENCIES:-}" ] && [ -d "$ACR_DEPENDENCIES" ] || return 0
  (cd "$ACR_DEPENDENCIES" && find . -maxdepth 5 -name node_modules -type d -prune) | while read -r acr_folder; do
    acr_owner=${acr_folder%/node_modules}
    if [ -d "$acr_owner" ] && [ ! -e "$acr_folder" ]; then
      acr_link_all "$ACR_DEPENDENCIES/$acr_folder" "$acr_folder"
    fi
  done
}

acr_link_all() {
  mkdir -p "$2"
  for acr_each in "$1"/* "$1"/.[!.]*; do
    acr_name=${acr_each##*/}
    if [ -L "$acr_each" ]; then cp -P "$acr_each" "$2/$acr_name"; continue; fi
    [ -e "$acr_each" ] || continue
    case $acr_name in
      .bin) cp -R "$acr_each" "$2/.bin" ;;
      .cache | .vite | .vitest) ;;
      @*) acr_link_all "$acr_each" "$2/$acr_name" ;;
      *) ln -s "$acr_each" "$2/$acr_name" ;;
    esac
  done
}
