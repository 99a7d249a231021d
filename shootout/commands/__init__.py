"""The commands of the main job: each parses arguments, calls the application, prints."""
