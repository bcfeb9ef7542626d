# src/assets/categories.yaml becomes a text inside the binary.
set(categories_yaml ${PROJECT_SOURCE_DIR}/src/assets/categories.yaml)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${categories_yaml})
file(READ ${categories_yaml} TIDEGAUGE_CATEGORIES_YAML)
configure_file(${PROJECT_SOURCE_DIR}/cmake/category_rules.cpp.in
               ${PROJECT_BINARY_DIR}/category_rules/built_in_rules.cpp @ONLY)
target_sources(tidegauge_analysis PRIVATE ${PROJECT_BINARY_DIR}/category_rules/built_in_rules.cpp)
