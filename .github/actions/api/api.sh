# Sourced by scripts: asks GitHub about the repository at the address API, with TOKEN, which is on no command line and
# follows no redirect.
api() { # METHOD PATH [JSON]
    curl --fail --silent --show-error --request "$1" --header @<(echo "Authorization: Bearer $TOKEN") \
        ${3:+--data "$3"} "$API/$2"
}
